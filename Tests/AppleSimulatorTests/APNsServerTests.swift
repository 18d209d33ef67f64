import Foundation
import NIOPosix
import Synchronization
import TestKit
import Testing

@testable import AppleSimulator

/// APNs through sockets: connections, and each fault once.
@Suite struct APNsServerTests {
    /// APNs that runs, and a provider that it knows.
    private struct APNs: Sendable {
        let simulation: APNsSimulation
        let provider: TestProvider
        let port: Int
        let headers: [String: String]

        func plan(_ mode: APNsFault.Mode, token: String? = nil, _ change: (inout APNsFault) -> Void = { _ in }) {
            var fault = APNsFault(mode: mode)
            change(&fault)
            simulation.faults.set(fault, for: token, times: mode == .reorder ? nil : 1)
        }

        /// A connection that may use all streams.
        func connect() async throws -> HTTP2TestClient {
            let client = try await HTTP2TestClient.connect(port: port)
            #expect(try await client.post("/3/device/00", headers: headers).status == "200")
            return client
        }

        var statuses: [Int?] { simulation.pushes.entries.map(\.status) }
    }

    private func withAPNs(_ body: @Sendable (APNs) async throws -> Void) async throws {
        let simulation = APNsSimulation(log: RequestLog())
        let provider = TestProvider()
        simulation.register(
            try ProviderKey(pem: provider.publicKey), team: provider.team,
            identifier: provider.keyIdentifier)
        let server = try await APNsServer(
            host: "127.0.0.1", port: 0, certificate: nil, simulation: simulation,
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton)
        let running = Task { try await server.run() }
        let headers = [
            "apns-topic": "com.example.app", "authorization": try provider.authorization(issuedAt: simulation.now),
        ]
        do {
            try await body(APNs(simulation: simulation, provider: provider, port: server.port, headers: headers))
        } catch {
            running.cancel()
            throw error
        }
        running.cancel()
        try await running.value
    }

    @Test func answersAndLogs() async throws {
        try await withAPNs { apns in
            let client = try await HTTP2TestClient.connect(port: apns.port)
            let id = "123e4567-e89b-12d3-a456-426655440000"
            let headers = apns.headers.merging(["apns-id": id]) { $1 }
            let accepted = try await client.post("/3/device/00aa", headers: headers)
            #expect(accepted == HTTP2TestClient.Response(status: "200", headers: ["apns-id": id], body: ""))

            let gone = APNsAnswerRequest(
                status: 410, reason: "Unregistered", timestamp: 7, retryAfter: 9, delay: 0.01)
            apns.simulation.answers.set(gone.answer, for: "00aa", times: nil)
            let refused = try await client.post("/3/device/00aa", headers: headers)
            #expect(refused.status == "410" && refused.headers["retry-after"] == "9")
            let body = try JSONDecoder().decode(APNsAnswer.Body.self, from: Data(refused.body.utf8))
            #expect(body == APNsAnswer.Body(reason: "Unregistered", timestamp: 7))
            #expect(try await client.post("/3/device/00aa", headers: [:]).status == "400")
            let large = String(repeating: " ", count: 20_000)
            #expect(try await client.post("/3/device/00aa", headers: headers, body: large).status == "413")

            let pushes = apns.simulation.pushes.entries
            #expect(pushes.map(\.status) == [200, 410, 400, 413])
            #expect(pushes.map(\.duplicates) == [0, 1, 0, 2] && pushes.allSatisfy { $0.connection == 1 })
            let log = apns.simulation.log.entries
            #expect(log.map(\.status) == [200, 410, 400, 413])
            #expect(log.first?.headers["apns-topic"] == "com.example.app")
            #expect(log.first?.headers["authorization"] == nil && log.first?.headers["host"] == "127.0.0.1")
            #expect(log.first?.body == #"{"aps":{}}"#)
            try await client.close()
        }
    }

    @Test func oneStreamUntilATokenIsValid() async throws {
        try await withAPNs { apns in
            let client = try await HTTP2TestClient.connect(port: apns.port)
            var headers = apns.headers
            headers["authorization"] = "bearer x"
            #expect(try await client.post("/3/device/00", headers: headers).status == "403")
            #expect(client.settings(3) == [1])
            #expect(try await client.post("/3/device/00", headers: apns.headers).status == "200")
            #expect(client.settings(3) == [1, 1_000])
            apns.plan(.streams) { $0.count = 2 }
            #expect(try await client.post("/3/device/00", headers: apns.headers).status == "200")
            #expect(client.settings(3) == [1, 1_000, 2])
            try await client.close()
        }
    }

    @Test func theClockAgesTokens() async throws {
        try await withAPNs { apns in
            let client = try await apns.connect()
            apns.simulation.advance(by: 3_700)
            let expired = try await client.post("/3/device/00", headers: apns.headers)
            #expect(expired.status == "403" && expired.body == #"{"reason":"ExpiredProviderToken"}"#)
            var headers = apns.headers
            headers["authorization"] = try apns.provider.authorization(issuedAt: apns.simulation.now)
            #expect(try await client.post("/3/device/00", headers: headers).status == "200")
            try await client.close()
        }
    }

    @Test(arguments: [3, nil])
    func goesAway(_ lastStream: Int?) async throws {
        try await withAPNs { apns in
            let client = try await apns.connect()
            apns.simulation.faults.set(APNsFault(mode: .reorder, delay: 3_600, count: 9), for: "aa", times: nil)
            client.send("/3/device/aa", headers: apns.headers)
            client.send("/3/device/aa", headers: apns.headers)
            try await eventually("both have arrived") { apns.statuses.count == 3 }
            apns.plan(.goAway) {
                ($0.lastStreamID, $0.reason) = (lastStream, "Shutdown")
            }
            client.send("/3/device/bb", headers: apns.headers)
            try await client.event("GOAWAY") {
                $0 == .goAway(lastStream: lastStream ?? 7, code: 0, #"{"reason":"Shutdown"}"#)
            }
            apns.simulation.endFaults(for: nil)
            try await client.event("closed") { $0 == .closed || $0 == .inputClosed }
            #expect(client.answered.sorted() == (lastStream == nil ? [1, 3, 5, 7] : [1, 3]))
            #expect(apns.statuses == (lastStream == nil ? [200, 200, 200, 200] : [200, 200, nil, nil]))
            try await client.close()
        }
    }

    @Test(arguments: [nil, 2, 11])
    func resetsStreams(_ code: Int?) async throws {
        try await withAPNs { apns in
            let client = try await apns.connect()
            apns.plan(.reset, token: "aa") { $0.code = code }
            let stream = client.send("/3/device/aa", headers: apns.headers)
            try await client.event("reset") { $0 == .reset(stream: stream, code: code ?? 7) }
            #expect(apns.statuses == [200, code == nil ? nil : 200])
            #expect(try await client.post("/3/device/aa", headers: apns.headers).status == "200")
            try await client.close()
        }
    }

    @Test func holdsTheWindow() async throws {
        try await withAPNs { apns in
            let old = try await apns.connect()
            apns.plan(.window)
            // The client may have sent this one's payload before it learnt of the window.
            old.send("/3/device/aa", headers: apns.headers)
            try await old.event("a window of 0") { $0 == .settings([4: 0]) }
            apns.plan(.window)
            let new = try await HTTP2TestClient.connect(port: apns.port)
            // Before the server's settings, the client assumes the default window.
            try await eventually("a window of 0") { new.settings(4) == [0] }
            let stream = new.send("/3/device/bb", headers: apns.headers)
            #expect(!apns.simulation.pushes.entries.contains { $0.token == "bb" })
            apns.simulation.endFaults(for: nil)
            #expect(try await new.response(on: stream).status == "200")
            try await old.close()
            try await new.close()
        }
    }

    @Test func stalls() async throws {
        try await withAPNs { apns in
            let client = try await apns.connect()
            apns.plan(.stall)
            #expect(try await client.post("/3/device/aa", headers: apns.headers).status == "200")
            let stream = client.send("/3/device/bb", headers: apns.headers)
            #expect(!apns.simulation.pushes.entries.contains { $0.token == "bb" })
            apns.simulation.endFaults(for: nil)
            #expect(try await client.response(on: stream).status == "200")
            try await client.close()
        }
    }

    @Test func halfCloses() async throws {
        try await withAPNs { apns in
            let client = try await apns.connect()
            apns.plan(.halfClose)
            client.send("/3/device/aa", headers: apns.headers)
            try await client.event("half closed") { $0 == .inputClosed }
            client.send("/3/device/bb", headers: apns.headers)
            try await eventually("it still reads") { apns.statuses == [200, 200, 200] }
            try await client.close()
        }
    }

    @Test func headersNeverEnd() async throws {
        try await withAPNs { apns in
            let client = try await apns.connect()
            apns.plan(.headers) { $0.delay = 0.001 }
            client.send("/3/device/aa", headers: apns.headers)
            try await eventually("NIO's limit of CONTINUATION frames; received \(client.events)") {
                client.errors.contains { $0.contains("ExcessiveContinuationFrames") }
            }
            #expect(client.answered == [1])
            try await client.close()
        }
    }

    @Test func aResponseNeverEnds() async throws {
        try await withAPNs { apns in
            let client = try await apns.connect()
            apns.plan(.unfinished)
            let stream = client.send("/3/device/aa", headers: apns.headers)
            try await eventually("the head") { client.answered == [1, stream] }
            #expect(!client.events.contains(.closed))
            apns.plan(.silent)
            client.send("/3/device/aa", headers: apns.headers)
            try await eventually("arrived") { apns.statuses == [200, 200, 200] }
            try await client.close()
        }
    }

    @Test func answersLateAndInReverse() async throws {
        try await withAPNs { apns in
            let client = try await apns.connect()
            apns.plan(.late) { $0.delay = 0.01 }
            #expect(try await client.post("/3/device/aa", headers: apns.headers).status == "200")
            apns.plan(.reorder) { $0.count = 3 }
            let streams = (0..<3).map { _ in client.send("/3/device/aa", headers: apns.headers) }
            for stream in streams { _ = try await client.response(on: stream) }
            #expect(client.answered.suffix(3) == streams.reversed()[...])
            apns.plan(.reorder) { ($0.count, $0.delay) = (3, 0.01) }
            #expect(try await client.post("/3/device/aa", headers: apns.headers).status == "200", "held no longer")
            try await client.close()
        }
    }

    @Test(arguments: [APNsFault.Mode.cutBefore, .cutUnanswered, .cutAfter])
    func cuts(_ mode: APNsFault.Mode) async throws {
        try await withAPNs { apns in
            let client = try await apns.connect()
            apns.plan(mode)
            let stream = client.send("/3/device/aa", headers: apns.headers)
            try await client.event("closed") { $0 == .inputClosed || $0 == .closed }
            #expect(client.answered.contains(stream) == (mode == .cutAfter))
            #expect(apns.statuses == [200, mode == .cutBefore ? nil : 200])
            try await client.close()
            try await eventually("no connection is left") { apns.simulation.connections == (open: 0, total: 1) }
        }
    }
}
