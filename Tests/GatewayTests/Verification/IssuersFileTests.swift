import Foundation
import GatehouseAccessTokens
import GatehouseBytes
import TestKit
import Testing

@testable import GatewayService

@Suite("The file of further issuers")
struct IssuersFileTests {
    private static let own = TrustedIssuer(issuer: "https://own.test", audience: "gatehouse")

    private func read(_ yaml: String, inDevelopment: Bool = false) -> IssuersFile {
        IssuersFile(yaml: yaml, own: Self.own, allowsDevelopment: inDevelopment)
    }

    @Test("Issuers with an address or a file")
    func good() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).pem").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try GatewayHarness.key.publicKey.pem.write(toFile: path, atomically: true, encoding: .utf8)
        let file = read(
            """
            issuers:
              - issuer: https://one.test
                audience: one-app
                jwks: https://one.test/.well-known/jwks.json
              - {issuer: https://two.test, keysFile: \(path)}
            """)
        #expect(file.problems.isEmpty)
        #expect(
            file.issuers.map(\.issuer) == [
                TrustedIssuer(issuer: "https://one.test", audience: "one-app", trust: .external(.init())),
                TrustedIssuer(issuer: "https://two.test", audience: "gatehouse", trust: .external(.init())),
            ])
        guard case .jwks(let urls) = file.issuers[0].keys, case .file(let keys) = file.issuers[1].keys else {
            Issue.record("an issuer's keys are elsewhere")
            return
        }
        #expect(urls.map(\.absoluteString) == ["https://one.test/.well-known/jwks.json"] && keys.path == path)
        #expect(read("issuers: [{issuer: i, jwks: 'http://one.test/x'}]", inDevelopment: true).problems.isEmpty)
    }

    @Test("How an identity provider's tokens look")
    func external() throws {
        let file = read(
            """
            issuers:
              - issuer: https://keycloak.test/realms/shop
                jwks: https://keycloak.test/certs
                algorithms: [RS256, ES256]
                types: [at+jwt, JWT]
                roleClaim: [realm_access, roles]
                roles: {shop-courier: courier, "a.b": manager}
              - {issuer: https://auth0.test/, jwks: https://auth0.test/jwks, roleClaim: https://shop.test/roles}
              - {issuer: https://other.test, jwks: https://other.test/jwks, trustedAs: gatehouse}
            """)
        #expect(file.problems.isEmpty)
        #expect(
            file.issuers.map(\.issuer.trust) == [
                .external(
                    .init(
                        form: .init(
                            algorithms: [.rs256, .es256], acceptsAnyJWT: true,
                            roles: ClaimPath(["realm_access", "roles"])),
                        roleNames: ["shop-courier": "courier", "a.b": "manager"])),
                .external(.init(form: .init(roles: ClaimPath(["https://shop.test/roles"])))),
                .gatehouse,
            ])
    }

    @Test(
        "What an issuer cannot be is told",
        arguments: [
            ("trustedAs: me", "trustedAs"), ("trustedAs: gatehouse, roleClaim: roles", "roleClaim is not allowed"),
            ("trustedAs: gatehouse, types: [JWT]", "types is not allowed"), ("algorithms: [HS256]", "algorithms"),
            ("algorithms: []", "algorithms"), ("algorithms: none", "algorithms"), ("types: [ID]", "types"),
            ("types: []", "types"), ("roleClaim: sub", "roleClaim"), ("roleClaim: []", "roleClaim"),
            ("roleClaim: {a: b}", "roleClaim"), ("roles: {a: b}", "roles need a roleClaim"),
            ("roleClaim: roles, roles: [a]", "roles must be"), ("roleClaim: roles, roles: {a: [b]}", "roles must be"),
            ("roleClaim: roles, roles: {}", "roles must be"),
        ])
    func badExternal(_ members: String, _ reason: String) {
        let problems = read("issuers: [{issuer: i, jwks: 'https://i/x', \(members)}]").problems
        #expect(problems.count == 1 && problems[0].contains(reason), "\(problems)")
    }

    @Test("Why a file of keys cannot be used is told: in which line, which file, and what is wrong with it")
    func reasons() throws {
        func problems(_ contents: Data?) throws -> [String] {
            let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).pem").path
            defer { try? FileManager.default.removeItem(atPath: path) }
            try contents?.write(to: URL(fileURLWithPath: path))
            let problems = read("issuers:\n  - issuer: https://one.test\n    keysFile: \(path)").problems
            return problems.map { $0.replacing(path, with: "PATH") }
        }
        let location = "line 2: keysFile cannot be used: PATH: "
        #expect(
            try problems(Data(WeakKey.rsa1024Public.utf8)) == [location + "An RSA key must have 2048 to 8192 bits."])
        #expect(try problems(nil) == [location + "The file is not there, or may not be read."])
        #expect(try problems(Data([0xFF, 0xFE, 0x2D])) == [location + "The file is not text in UTF-8."])
        #expect(try problems(Data("no key".utf8)) == [location + "The text holds no whole PEM block."])
        let development = try "# development\n" + GatewayHarness.key.publicKey.pem
        #expect(try problems(Data(development.utf8)) == [location + "The keys were made for development."])
        let own = GatewayHarness.key.pem
        #expect(
            try problems(Data(own.utf8)) == [location + "Only PUBLIC KEY blocks are taken here, not PRIVATE KEY."])
    }

    @Test(
        "What cannot be used is told",
        arguments: [
            "", "issuers: []", "issuers: x", "- issuer: x", "issuers: [x]\nmore: y",
            "issuers: [{jwks: 'https://one.test/x'}]", "issuers: [{issuer: ''}]", "issuers: [{issuer: i}]",
            "issuers: [{issuer: i, jwks: 'http://one.test/x'}]", "issuers: [{issuer: i, jwks: 'https:///x'}]",
            "issuers: [{issuer: i, jwks: 'https://one.test/x', keysFile: /nothing}]",
            "issuers: [{issuer: i, keysFile: /nothing}]",
            "issuers: [{issuer: 'https://own.test', jwks: 'https://own.test/x'}]",
            "issuers: [{issuer: i, jwks: 'https://i/x'}, {issuer: i, jwks: 'https://i/x'}]",
            "issuers: [{issuer: i, jwks: 'https://i/x', secret: y}]",
        ])
    func bad(_ yaml: String) {
        #expect(read(yaml).problems.count == 1)
    }
}
