import AsyncHTTPClient
import Foundation
import GatehouseLimits
import GatehouseObservability
import GatehouseServiceContracts
import GatehouseServiceKit
import HTTPTypes
import NIOCore
import TestKit
import Testing
import Tracing

@Suite struct ServiceClientTests {
    private let deadline = Deadline.after(.seconds(60))

    private func withClient(
        _ urls: [URL], credential: String = "dev-identity-one", dependencyTimeout: Duration = .seconds(60),
        _ body: (ServiceClient) async throws -> Void
    ) async throws {
        let httpClient = HTTPClient(configuration: .gatehouse())
        do {
            try await body(
                ServiceClient(
                    callee: "echo", urls: urls, credential: credential, httpClient: httpClient,
                    dependencyTimeout: dependencyTimeout))
        } catch {
            try await httpClient.shutdown()
            throw error
        }
        try await httpClient.shutdown()
    }

    /// An address that refuses connections.
    private func deadAddress() throws -> URL {
        try #require(URL(string: "http://127.0.0.1:\(freePort())"))
    }

    /// A socket that accepts connections and never says a word, as a stopped process does.
    private func withSilentServer(_ body: (URL) async throws -> Void) async throws {
        try await withTCPServer { port in
            try await body(try #require(URL(string: "http://127.0.0.1:\(port)")))
        }
    }

    private func error(of body: () async throws(ServiceClientError) -> Void) async -> ServiceClientError? {
        do {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test func callsAndPassesOnWhoAsks() async throws {
        try await withService(EchoApplication.self, settings: echoSettings) { service in
            try await withClient([service.url]) { client in
                let trace = TraceContext()
                var context = ServiceContext.topLevel
                context.requestID = "from-caller"
                context.traceContext = trace
                let seen = try await ServiceContext.withValue(context) {
                    try await Deadline.with(.after(.milliseconds(30_500))) {
                        try await client.send(.post, "/internal/things", as: EchoApplication.Seen.self)
                    }
                }
                #expect(seen.caller == "identity")
                #expect(seen.requestID == "from-caller")
                #expect(seen.traceID == trace.traceID)
                #expect((1...30_500).contains(seen.milliseconds))
                let echo = try await client.send(
                    .post, "/v1/echo", body: EchoApplication.Echo(text: "é", count: 3), query: [("a", "b c&d/é")],
                    as: EchoApplication.Echo.self)
                #expect(echo == EchoApplication.Echo(text: "é", count: 3))
                try await client.send(.get, "/livez")
            }
        }
    }

    @Test func postsForms() async throws {
        try await withService(EchoApplication.self, settings: echoSettings) { service in
            try await withClient([service.url]) { client in
                let form = [("a", "b c&d=é+"), ("e", "")]
                let echo = try await client.post(form: form, to: "/oauth/form", as: [String: String].self)
                #expect(echo == ["a": "b c&d=é+", "e": ""])
            }
        }
    }

    @Test func passesOnRefusalsOfTheMatterItself() async throws {
        try await withService(EchoApplication.self, settings: echoSettings) { service in
            try await withClient([service.url]) { client in
                let refusal = await error { () throws(ServiceClientError) in
                    try await client.send(.post, "/v1/echo", body: ["text": 1])
                }
                #expect(refusal?.problem.code == .invalidRequest)
                #expect(refusal?.problem.errors.map(\.field) == ["text"])
                #expect(refusal?.isUnavailable == false)
                let hidden = refusal?.hidingRefusal
                #expect(hidden?.problem.code == .unavailable)
                #expect(hidden.map { "\($0)" }?.contains("refused") == true, "the log has the cause")
                #expect(refusal?.mayHaveActed == false)
            }
        }
    }

    @Test(arguments: ["/v1/me", "/v1/fail", "/v1/away", "/v1/none/of/these/paths", "/livez"])
    func isUnavailableForTroubleBetweenServices(_ path: String) async throws {
        try await withService(EchoApplication.self, settings: echoSettings) { service in
            try await withClient([service.url], credential: "unknown") { client in
                let trouble = await error { () throws(ServiceClientError) in
                    if path == "/livez" {
                        // An answer of another shape than agreed.
                        _ = try await client.send(.get, path, as: EchoApplication.Seen.self)
                    } else if path.hasPrefix("/v1/none") {
                        try await client.send(.post, "/internal/things")
                    } else {
                        try await client.send(.get, path)
                    }
                }
                #expect(trouble?.problem.code == .unavailable)
                #expect(trouble?.isUnavailable == true)
                #expect(trouble?.mayHaveActed == true)
            }
        }
    }

    @Test func isUnavailableAtOnceWhereNobodyListens() async throws {
        try await withClient([try deadAddress()]) { client in
            let trouble = await error { () throws(ServiceClientError) in
                try await client.send(.post, "/x")
            }
            #expect(trouble?.isUnavailable == true)
            #expect(trouble?.mayHaveActed == false)
            #expect(!deadline.hasPassed)
        }
    }

    @Test("The server does not answer: the call is unavailable and may have acted")
    func silentServer() async throws {
        try await withSilentServer { url in
            try await withClient([url], dependencyTimeout: Deadline.defaultDatabaseTimeout) { client in
                #expect(client.timeout < .seconds(2))
                for current in [nil, deadline, .after(.milliseconds(200))] {
                    let trouble = await Deadline.with(current) {
                        await error { () throws(ServiceClientError) in try await client.send(.get, "/x") }
                    }
                    #expect(trouble?.isUnavailable == true)
                    #expect(trouble?.mayHaveActed == true)
                    #expect(!deadline.hasPassed)
                }
            }
        }
    }

    @Test func triesAnotherReplicaWhereNothingWasSent() async throws {
        try await withService(EchoApplication.self, settings: echoSettings) { service in
            try await withClient([try deadAddress(), service.url]) { client in
                for _ in 0..<10 {
                    try await client.send(.post, "/internal/things")
                }
            }
        }
    }

    @Test func repeatsOnlyWhatMayBeRepeated() async throws {
        try await withTCPServer(onAccept: { $0.close(promise: nil) }) { port in
            let closing = try #require(URL(string: "http://127.0.0.1:\(port)"))
            try await withService(EchoApplication.self, settings: echoSettings) { service in
                // Set aside after its first failure, the closing one is not asked again for a while; so each case has
                // a client of its own, until one draws the closing one first.
                for _ in 0..<8 {
                    try await withClient([closing, service.url]) { client in
                        try await client.send(.get, "/livez")
                    }
                }
                var failures = 0
                for _ in 0..<64 where failures == 0 {
                    try await withClient([closing, service.url]) { client in
                        let trouble = await error { () throws(ServiceClientError) in
                            try await client.send(.post, "/internal/things")
                        }
                        if trouble != nil { failures += 1 }
                    }
                }
                #expect(failures > 0)
            }
        }
    }

    @Test func aSilentReplicaCostsHalfOfTheTime() async throws {
        try await withSilentServer { silent in
            try await withService(EchoApplication.self, settings: echoSettings) { service in
                // So many that some draw the silent one first.
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            try await withClient([silent, service.url], dependencyTimeout: .seconds(20)) { client in
                                try await client.send(.get, "/livez")
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }

    /// A head says nothing of when its body comes.
    @Test(arguments: ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n", #"{"text":"#])
    func isUnavailableWhereAnAnswerStalls(_ last: String) async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n"
        try await withTCPServer(onAccept: { connection in
            let text = last.hasPrefix("{") ? head + last : last
            connection.writeAndFlush(ByteBuffer(string: text), promise: nil)
        }) { port in
            let stalling = try #require(URL(string: "http://127.0.0.1:\(port)"))
            try await withClient([stalling]) { client in
                let trouble = await Deadline.with(.after(.milliseconds(300))) {
                    await error { () throws(ServiceClientError) in
                        _ = try await client.send(.get, "/x", as: EchoApplication.Echo.self)
                    }
                }
                #expect(trouble?.isUnavailable == true)
                #expect(trouble?.mayHaveActed == true)
                #expect(!deadline.hasPassed)
            }
        }
    }

    @Test func doesNotTakeEndlessAnswers() async throws {
        try await withTCPServer(onAccept: { connection in
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"
            connection.writeAndFlush(ByteBuffer(string: head), promise: nil)
            for _ in 0..<6 { connection.writeAndFlush(ByteBuffer(repeating: 32, count: 1 << 20), promise: nil) }
        }) { port in
            let url = try #require(URL(string: "http://127.0.0.1:\(port)"))
            try await withClient([url]) { client in
                let trouble = await error { () throws(ServiceClientError) in
                    _ = try await client.send(.get, "/x", as: EchoApplication.Echo.self)
                }
                #expect(trouble?.isUnavailable == true)
            }
        }
    }
}
