import GatehouseContracts
import Foundation
import Synchronization
import Testing

@testable import GatehouseClient

@Suite("A session's companions") struct SessionCompanionTests {
    private final class Companion: SessionCompanion {
        private let log = Mutex<[String]>([])
        /// Where it waits when a session begins.
        private let gate: Gate?
        private let opensWhenCancelled: Bool

        init(gate: Gate? = nil, opensWhenCancelled: Bool = false) {
            self.gate = gate
            self.opensWhenCancelled = opensWhenCancelled
        }

        var heard: [String] { log.withLock { $0 } }

        func sessionBegan(_ user: GatehouseClient.User) async {
            log.withLock { $0.append("began \(user.email ?? "")") }
            await withTaskCancellationHandler {
                await gate?.pass()
            } onCancel: {
                if opensWhenCancelled { Task { await gate?.open() } }
            }
            if Task.isCancelled { log.withLock { $0.append("cancelled") } }
        }

        func sessionEnded(_ reason: SignOutReason) async { log.withLock { $0.append("ends \(reason)") } }
    }

    private let device = TestDevice()

    @Test("It hears of the beginning and the end, in this order") func order() async throws {
        let companion = Companion()
        let client = try device.launch()
        await client.session.add(companion)
        for _ in 0..<20 {
            try await client.begin("ada@example.com")
            try await client.session.end(.user)
        }
        let heard = companion.heard.filter { $0 != "cancelled" }
        #expect(heard == Array(repeating: ["began ada@example.com", "ends user"], count: 20).flatMap { $0 })
    }

    @Test("A companion may take its time when a session begins: no caller waits for it") func slow() async throws {
        let gate = Gate()
        let companion = Companion(gate: gate)
        let client = try device.launch()
        await client.session.add(companion)
        let begun = Mutex(false)
        Task {
            try await client.begin("ada@example.com")
            begun.withLock { $0 = true }
        }
        try await until("signed in") { begun.withLock { $0 } }
        await gate.untilSomebodyArrives()
        device.clock.advance(by: .seconds(60))
        _ = try await client.session.accessToken()
        await gate.open()
        try await client.session.end(.user)
        // The end may come before the companion has left the gate.
        #expect(companion.heard.filter { $0 != "cancelled" } == ["began ada@example.com", "ends user"])
    }

    @Test("A launch does not wait for it either") func slowAtLaunch() async throws {
        _ = try await device.signedIn()
        let gate = Gate()
        let client = try device.launch(checksAtLaunch: false)
        await client.session.add(Companion(gate: gate))
        let started = Mutex(false)
        Task {
            try await client.session.start()
            started.withLock { $0 = true }
        }
        try await until("restored") { started.withLock { $0 } }
        await gate.open()
    }

    @Test("Work is cancelled when the session ends, and returns before the end is notified") func stops()
        async throws
    {
        let gate = Gate()
        let companion = Companion(gate: gate, opensWhenCancelled: true)
        let client = try device.launch()
        await client.session.add(companion)
        try await client.begin("ada@example.com")
        await gate.untilSomebodyArrives()
        try await client.session.end(.user)
        #expect(companion.heard == ["began ada@example.com", "cancelled", "ends user"])
    }

    @Test("Work that ignores its cancellation is notified of the end after three seconds") func stubborn() async throws
    {
        let gate = Gate()
        let companion = Companion(gate: gate)
        let client = try device.launch()
        await client.session.add(companion)
        try await client.begin("ada@example.com")
        await gate.untilSomebodyArrives()
        let ending = Task { try await client.session.end(.user) }
        try await until("it hears of the end") {
            device.clock.advance(by: .seconds(1))
            return companion.heard.last == "ends user"
        }
        try await ending.value
        await gate.open()
    }

    @Test("A companion that is added later hears of the session that is there") func later() async throws {
        let client = try await device.signedIn()
        let companion = Companion()
        await client.session.add(companion)
        try await until("it has heard") { companion.heard == ["began ada@example.com"] }
    }

    @Test("A companion that is removed hears nothing more, and is not kept") func removed() async throws {
        let client = try await device.signedIn()
        let other = Companion()
        weak var released: Companion?
        do {
            let companion = Companion()
            released = companion
            await client.session.add(companion)
            await client.session.add(other)
            try await until("both have heard") { companion.heard.count == 1 && other.heard.count == 1 }
            await client.session.remove(companion)
            try await client.session.end(.user)
            #expect(companion.heard == ["began ada@example.com"])
        }
        #expect(other.heard == ["began ada@example.com", "ends user"])
        try await until("it has gone") { released == nil }
    }

    @Test("When a companion hears of the end, the session has ended here, and no request goes out")
    func endsFirst() async throws {
        final class Asking: SessionCompanion {
            let client: GatehouseClient
            let seen = Mutex<[SessionState]>([])
            let gate = Gate()

            init(_ client: GatehouseClient) { self.client = client }

            func sessionBegan(_ user: GatehouseClient.User) async { _ = try? await client.me() }

            func sessionEnded(_ reason: SignOutReason) async {
                let state = await client.session.state
                seen.withLock { $0.append(state) }
                _ = try? await client.me()
                await gate.pass()
            }
        }
        let client = try await device.signedIn()
        let companion = Asking(client)
        await client.session.add(companion)
        try await until("it has asked") { device.server.count("/v1/auth/me") == 1 }
        let ending = Task { try await client.session.end(.user) }
        await companion.gate.untilSomebodyArrives()
        #expect(companion.seen.withLock { $0 } == [.signedOut(reason: .user)])
        #expect(device.server.count("/v1/auth/me") == 1)
        // Neither the store nor the server waits for the companion.
        try await until("the server knows") {
            device.server.state.withLock { $0.chains["session1"]?.isRevoked == true }
        }
        #expect(await device.store.stored?.session == nil)
        await companion.gate.open()
        try await ending.value
    }
}
