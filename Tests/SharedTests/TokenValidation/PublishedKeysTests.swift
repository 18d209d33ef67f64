import AsyncHTTPClient
import Foundation
import GatehouseAccessTokens
import GatehouseInstruments
import GatehouseLimits
import GatehouseServiceKit
import GatehouseTokenValidation
import Hummingbird
import MetricsTestKit
import NIOCore
import Synchronization
import TestKit
import Testing

@Suite("Keys that an issuer publishes")
struct PublishedKeysTests {
    @Test("A key that cannot be used is counted, and logged once; the others count")
    func unusableKeys() async throws {
        let good = try RSAPrivateKey.generate().publicKey
        let jwks = String(decoding: try VerificationKeySet(keys: [good]).jwks(), as: UTF8.self)
        let entries = Mutex([#"{"kty":"RSA","kid":"weak","n":"AQAB","e":"AQAB"}"#, "{}"])
        let router = Router()
        router.get("jwks") { _, _ in
            let odd = entries.withLock { $0.map { $0 + "," }.joined() }
            return Response(status: .ok, body: .init(byteBuffer: .init(string: jwks.replacing("[", with: "[" + odd))))
        }
        let (metrics, log) = (TestMetrics(), CapturedLog())
        let unusable = UnusableKeys(
            issuer: "https://login.test", number: Gauge("unusable", help: "", factory: metrics), logger: log.logger)
        #expect(try metrics.expectMeter("unusable").lastValue == 0)
        let client = HTTPClient(configuration: .gatehouse())
        try await runFinally {
            try await withHTTPServer(router) { url in
                let keys = PublishedKeys(addresses: [url.appending(path: "jwks")], client: client, unusable: unusable)
                for _ in 1...3 {
                    #expect(try await keys.read() == VerificationKeySet(keys: [good]))
                    #expect(try metrics.expectMeter("unusable").lastValue == 2)
                }
                #expect(log.lines.count == 2)
                #expect(log.lines.contains { $0.contains("https://login.test") && $0.contains("weak") })
                // Another one.
                entries.withLock { $0.append("null") }
                #expect(try await keys.read().keyIDs == [good.thumbprint])
                #expect(log.lines.count == 3)
                entries.withLock { $0 = [] }
                _ = try await keys.read()
                #expect(try metrics.expectMeter("unusable").lastValue == 0 && log.lines.count == 3)
            }
        } finally: {
            try? await client.shutdown()
        }
    }

    /// Says its text when it is asked: once, in however many pieces the question comes.
    private final class Publisher: ChannelInboundHandler, RemovableChannelHandler, Sendable {
        typealias InboundIn = ByteBuffer

        let text: String

        init(_ text: String) { self.text = text }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let connection = context.channel
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
            connection.writeAndFlush(ByteBuffer(string: text), promise: nil)
        }
    }

    @Test("An answer that stalls, wherever it does, delays the next fetch for a while only")
    func stalls() async throws {
        let set = try VerificationKeySet(keys: [RSAPrivateKey.generate().publicKey])
        let jwks = String(decoding: set.jwks(), as: UTF8.self)
        let whole = "HTTP/1.1 200 OK\r\nContent-Length: \(jwks.utf8.count)\r\n\r\n\(jwks)"
        let behindHead = whole.dropLast(jwks.count)
        let chunkExtension =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + String(repeating: "x", count: 100)
        let answers = ["", "HTTP/1.1 200 OK\r\n", String(behindHead), String(whole.dropLast(1)), chunkExtension]
        let asked = Mutex(0)
        let store = IssuerKeys(issuers: [TestIssuer(issuer: "http://gatehouse.test")])
        let client = HTTPClient(configuration: .gatehouse())
        try await withTCPServer(onAccept: { connection in
            let number = asked.withLock { asked in
                asked += 1
                return asked
            }
            let answer = number <= answers.count ? answers[number - 1] : whole
            try connection.pipeline.syncOperations.addHandler(Publisher(answer))
        }) { port in
            let keys = PublishedKeys(
                addresses: [try #require(URL(string: "http://127.0.0.1:\(port)/jwks"))], client: client,
                unusable: UnusableKeys(issuer: "test", number: Gauge("unusable", help: ""), logger: .quiet),
                timeout: .milliseconds(200))
            var fetcher = KeyFetcher(
                store: store, maximumStaleness: 100, logger: .quiet, interval: .seconds(300), fetch: keys.read)
            fetcher.backoff = Backoff(base: .milliseconds(5), maximum: .milliseconds(5))
            let service = fetcher
            let fetching = Task { try await service.run() }
            defer { fetching.cancel() }
            try await eventually("the keys are learned") {
                store.isUsable(now: Int64(Date.now.timeIntervalSince1970))
            }
            #expect(asked.withLock { $0 } > answers.count)
        }
        try await client.shutdown()
    }
}
