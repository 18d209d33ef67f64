import AccessToken
import AsyncHTTPClient
import Foundation
import NIOCore
import ServiceKit
import Synchronization
import TestKit
import Testing
import TokenValidation

@Suite("Keys that an issuer publishes")
struct PublishedKeysTests {
    /// Says its text once it is asked, and nothing more.
    private final class Publisher: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        let text: String

        init(_ text: String) { self.text = text }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
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
                timeout: .milliseconds(200))
            var fetcher = KeyFetcher(
                store: store, maximumStaleness: 100, logger: .quiet, interval: .seconds(300), fetch: keys.read)
            fetcher.firstRetry = .milliseconds(5)
            fetcher.longestRetry = .milliseconds(5)
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
