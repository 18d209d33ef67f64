import Foundation
import NIOCore
import NIOSSL
import TestKit
import Testing

@testable import GatewayService

@Suite("TLS")
struct TLSTests {
    /// A certificate of an authority of its own.
    private func certificate(in folder: URL) async throws -> TestCertificate {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return try await TestCertificate.make(in: folder)
    }

    private func server(_ files: TestCertificate, log: CapturedLog = CapturedLog()) throws -> ServerCertificate {
        try ServerCertificate(
            certificateFile: files.certificate.path, keyFile: files.key.path,
            expiry: GatewayMetrics().certificateExpiry, logger: log.logger,
            pause: .milliseconds(5))
    }

    /// A client that trusts one authority and no other.
    private func client(_ files: TestCertificate, maximumVersion: TLSVersion? = nil) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(files.authority.path)
        configuration.minimumTLSVersion = .tlsv1
        configuration.maximumTLSVersion = maximumVersion
        return try NIOSSLContext(configuration: configuration)
    }

    /// Runs `body` with an upstream on `port` that shows `files`, and with another authority's certificate.
    private func withSecureUpstream(
        _ body: (
            _ folder: URL, _ files: TestCertificate, _ others: TestCertificate, RecordingUpstream, _ port: Int
        ) async throws -> Void
    ) async throws {
        try await withFolder { folder in
            let files = try await certificate(in: folder.appending(path: "one"))
            let others = try await certificate(in: folder.appending(path: "other"))
            let upstream = RecordingUpstream()
            let port = try await upstream.start(tls: try server(files).context)
            try await body(folder, files, others, upstream, port)
            await upstream.stop()
        }
    }

    private func get(_ path: String, port: Int, tls: NIOSSLContext?) async throws -> RawClient.Answer {
        let client = try await RawClient.connect(port: port, tls: tls)
        defer { Task { await client.close() } }
        try await client.send(GatewayHarness.request("GET \(path)"))
        return try await client.answer()
    }

    @Test("Requests come by TLS 1.2 or later, and services are told so")
    func requests() async throws {
        try await withFolder { folder in
            let files = try await TestCertificate.make(in: folder)
            let certificate = try server(files)
            try await GatewayHarness.withGateway(.init { $0.certificate = certificate }) { gateway in
                for version in [TLSVersion.tlsv12, .tlsv13] {
                    let answer = try await get(
                        "/open", port: gateway.port, tls: try client(files, maximumVersion: version))
                    #expect(answer.status == 200 && answer.body == "team")
                }
                #expect(gateway.team.requests.allSatisfy { $0.field("X-Forwarded-Proto") == "https" })
                let old = try client(files, maximumVersion: .tlsv11)
                for tls in [old, nil] {
                    let error = await #expect(throws: (any Error).self) {
                        try await get("/open", port: gateway.port, tls: tls)
                    }
                    #expect(!(error is RawClient.Timeout))
                }
                #expect(gateway.team.begun == 2)
            }
        }
    }

    @Test("Of TLS 1.2 only suites with forward secrecy and authenticated encryption are spoken")
    func cipherSuites() async throws {
        try await withFolder { folder in
            let files = try await TestCertificate.make(in: folder)
            let certificate = try server(files)
            try await GatewayHarness.withGateway(.init { $0.certificate = certificate }) { gateway in
                func isServed(with suites: [NIOTLSCipher]) async throws -> Bool {
                    var configuration = TLSConfiguration.makeClientConfiguration()
                    configuration.trustRoots = .file(files.authority.path)
                    configuration.maximumTLSVersion = .tlsv12
                    configuration.cipherSuiteValues = suites
                    let tls = try NIOSSLContext(configuration: configuration)
                    return (try? await get("/open", port: gateway.port, tls: tls))?.status == 200
                }
                // One of the two for each kind of key.
                for suites: [NIOTLSCipher] in [
                    [.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256],
                    [.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256],
                ] {
                    let served = try await isServed(with: suites)
                    #expect(served, "\(suites)")
                }
                for suites: [NIOTLSCipher] in [
                    [.TLS_RSA_WITH_AES_128_GCM_SHA256], [.TLS_RSA_WITH_AES_128_CBC_SHA],
                    [.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, .TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA],
                ] {
                    let served = try await isServed(with: suites)
                    #expect(!served, "\(suites)")
                }
            }
        }
    }

    @Test("Another certificate is used once it is there, and open connections go on")
    func reload() async throws {
        try await withFolder { folder in
            let (old, new) = (
                try await certificate(in: folder.appending(path: "old")),
                try await certificate(in: folder.appending(path: "new"))
            )
            let trusting = (old: try client(old), new: try client(new))
            let log = CapturedLog()
            let certificate = try server(old, log: log)
            try await GatewayHarness.withGateway(.init { $0.certificate = certificate }) { gateway in
                let open = try await RawClient.connect(port: gateway.port, tls: trusting.old)
                try await open.send(GatewayHarness.request("GET /open"))
                #expect(try await open.answer().status == 200)

                func replace(_ file: URL, by other: URL) throws {
                    try #require(rename(other.path, file.path) == 0)
                }
                try replace(old.certificate, by: new.certificate)
                try await eventually("a certificate without its key is complained of") {
                    log.lines.contains { $0.contains("is not the key") }
                }
                #expect(try await get("/open", port: gateway.port, tls: trusting.old).status == 200)
                try replace(old.key, by: new.key)
                try await eventually("the new one is in force") {
                    (try? await get("/open", port: gateway.port, tls: trusting.new))?.status == 200
                }
                await #expect(throws: (any Error).self) {
                    try await get("/open", port: gateway.port, tls: trusting.old)
                }
                try await open.send(GatewayHarness.request("GET /open"))
                #expect(try await open.answer().status == 200)
                await open.close()
            }
        }
    }

    @Test("Upstreams authenticate, by an authority that the route trusts and the name that it names")
    func upstreams() async throws {
        try await withSecureUpstream { _, files, others, secure, port in
            let plain = RecordingUpstream()
            let plainPort = try await plain.start()
            let trusted = try Upstream.Authorities.read(file: files.authority.path)
            let upstreams: [(path: String, host: String, port: Int, authorities: Upstream.Authorities)] = [
                ("/name", "localhost", port, trusted), ("/address", "127.0.0.1", port, trusted),
                ("/whole-name", "localhost.", port, trusted),
                ("/wrong-name", "orders.test", port, trusted),
                ("/wrong-authority", "localhost", port, try .read(file: others.authority.path)),
                ("/system", "localhost", port, try .read(file: nil)), ("/plain", "localhost", plainPort, trusted),
            ]
            let options = GatewayHarness.Options {
                $0.settings.connectTimeout = .seconds(30)
                $0.lookup = { _ in ["127.0.0.1"] }
                $0.routes = { _ in
                    upstreams.map { path, host, port, authorities in
                        .secure(path, host: host, port: port, authorities: authorities)
                    }
                }
            }
            try await GatewayHarness.withGateway(options) { gateway in
                for path in ["/name", "/address", "/whole-name", "/name"] {
                    let answer = try await gateway.send("POST \(path)", body: "x")
                    #expect(answer.status == 200 && answer.body == "hello", "\(path)")
                }
                for path in ["/wrong-name", "/wrong-authority", "/system", "/plain"] {
                    #expect(try await gateway.send("POST \(path)", body: "x").status == 502, "\(path)")
                }
                #expect(secure.begun == 4 && plain.begun == 0)
                #expect(secure.requests.allSatisfy { $0.text == "x" })
            }
            await plain.stop()
        }
    }

    @Test("A name in a certificate is compared byte by byte, but for the case of ASCII's letters")
    func names() {
        func names(_ pattern: String, _ host: String) -> Bool { UpstreamTLS.isName(Array(pattern.utf8), of: host) }
        #expect(names("Kitchen.test", "kitchen.TEST") && names("*.kitchen.test", "a.Kitchen.test"))
        // A Kelvin sign, of which Unicode makes a k.
        #expect(!names("\u{212A}itchen.test", "kitchen.test") && !names("*.\u{212A}itchen.test", "a.kitchen.test"))
        #expect(!names("caf\u{E9}.test", "cafe\u{301}.test"))
        for host in ["kitchen.test", "a.b.kitchen.test", ".kitchen.test", "kitchen", ""] {
            #expect(!names("*.kitchen.test", host), "\(host)")
        }
        #expect(!names("", "a") && !names("*", "a") && !names("*.", "a") && !names("a.*", "a.b"))
    }

    @Test("Authorities of upstreams are followed: those that are taken out vouch for no upstream any more")
    func authorities() async throws {
        try await withSecureUpstream { folder, files, others, _, port in
            let (authorities, routes) = (folder.appending(path: "ca.pem"), folder.appending(path: "routes.yaml"))
            @Sendable func trust(_ text: String) throws {
                try text.write(to: authorities, atomically: true, encoding: .utf8)
            }
            let (good, bad) = (
                try String(contentsOf: files.authority, encoding: .utf8),
                try String(contentsOf: others.authority, encoding: .utf8)
            )
            try trust(bad)
            try """
            routes:
              - {name: x, path: /x, authentication: none, upstreams: 'https://localhost:\(port)',
                 certificateAuthority: \(authorities.path)}
            """.write(to: routes, atomically: true, encoding: .utf8)
            let options = GatewayHarness.Options {
                $0.settings.connectTimeout = .seconds(30)
                $0.settings.upstreamIdleTimeout = .seconds(60)
            }
            let log = CapturedLog()
            try await GatewayHarness.withGateway(options) { gateway in
                var follower = RoutesFollower(
                    source: RoutesSource(builtIn: [], path: routes.path), store: gateway.gateway.routes,
                    names: gateway.gateway.names, logger: log.logger)
                (follower.pause, follower.signals) = (.milliseconds(1), [])
                let service = follower
                let following = Task { try await service.run() }
                defer { following.cancel() }
                func status() async throws -> Int { try await gateway.send("GET /x").status }
                try await eventually("the route is there") { try await status() == 502 }
                try trust(good)
                try await eventually("the right authority is trusted") { try await status() == 200 }
                try trust("junk")
                try await eventually("junk is complained of") {
                    log.lines.contains { $0.contains("certificateAuthority must name") }
                }
                #expect(try await status() == 200)
                try trust(bad)
                // Not on a connection that was opened before either.
                try await eventually("it is trusted no more") { try await status() == 502 }
            }
        }
    }

    @Test("Routes that name a file of authorities come into force once that file exists")
    func laterAuthorities() async throws {
        try await withFolder { folder in
            let files = try await certificate(in: folder.appending(path: "one"))
            let (authorities, routes) = (folder.appending(path: "ca.pem"), folder.appending(path: "routes.yaml"))
            try """
            routes:
              - {name: x, path: /x, authentication: none, upstreams: 'https://127.0.0.1:443',
                 certificateAuthority: \(authorities.path)}
            """.write(to: routes, atomically: true, encoding: .utf8)
            let log = CapturedLog()
            let store = try CurrentRoutes(RouteTable())
            var follower = RoutesFollower(
                source: RoutesSource(builtIn: [], path: routes.path), store: store,
                names: UpstreamNames(routes: store, logger: log.logger), logger: log.logger)
            (follower.pause, follower.signals) = (.milliseconds(1), [])
            let service = follower
            let following = Task { try await service.run() }
            defer { following.cancel() }
            func complaints() -> Int { log.lines.filter { $0.contains("certificateAuthority") }.count }
            try await eventually("the missing file is complained of") { complaints() > 0 }
            // Several further checks of the files that have not changed.
            try await Task.sleep(for: .milliseconds(50))
            try FileManager.default.copyItem(at: files.authority, to: authorities)
            try await eventually("the route is in force") { store.table.routes.count == 1 }
            #expect(complaints() == 1)
        }
    }

    @Test("Files that cannot be used: each is named with its problem")
    func unfit() async throws {
        try await withFolder { folder in
            let files = try await TestCertificate.make(in: folder)
            func complaint(_ certificate: URL, _ key: URL) -> String? {
                do throws(ServerCertificate.Failure) {
                    _ = try ServerCertificate.read(certificateFile: certificate.path, keyFile: key.path)
                    return nil
                } catch {
                    return error.description
                }
            }
            #expect(complaint(files.certificate, files.key) == nil)
            #expect(complaint(files.key, files.key)?.contains("no certificate") == true)
            let junk = folder.appending(path: "junk.pem")
            try Data("junk".utf8).write(to: junk)
            try #require(chmod(junk.path, 0o600) == 0)
            #expect(complaint(files.certificate, junk)?.contains("no private key") == true)
            #expect(complaint(files.authority, files.key)?.contains("is not the key") == true)
            #expect(complaint(folder.appending(path: "nothing"), files.key)?.contains("no certificate") == true)
            try #require(chmod(files.key.path, 0o644) == 0)
            #expect(complaint(files.certificate, files.key)?.contains("open to everybody") == true)
        }
    }
}
