import Foundation
import Synchronization
import TestKit
import Testing

@testable import GatehouseClient

extension SystemTests {
    /// How a session ends, here and elsewhere.
    @Suite struct ClientSessionEnds {
        @Test("Ended from another device: signed out once, with the reason, and nothing is left to try")
        func endedElsewhere() async throws {
            let (phone, tablet) = (ClientDevice(), ClientDevice())
            let identifier = Journey.uniqueEmail()
            let client = try await phone.registered(identifier)
            let other = try await tablet.signedIn(identifier)
            let seen = Seen(client.session)

            let list = try await other.sessions()
            try await other.endSession(try #require(list.first { !$0.current }))
            try await eventually("the phone is told") {
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for _ in 0..<50 {
                        group.addTask {
                            do {
                                // Until the gateway knows.
                                return try await client.getProfile() != 200
                            } catch let error as GatehouseError {
                                #expect(error.kind == .sessionEnded, "\(error)")
                                return true
                            }
                        }
                    }
                    return try await group.reduce(true) { $0 && $1 }
                }
            }
            #expect(await client.session.state == .signedOut(reason: .endedByServer))
            #expect(phone.telemetry.reasons(of: .sessionEnded) == ["endedByServer"])
            try await eventually("the app is told") { seen.ends.count == 1 }
            #expect(seen.ends == [.endedByServer])
            #expect(phone.refreshes == 1)
            #expect(try await phone.stored.holdsNoSession)
            #expect(try await other.getProfile() == 200)

            let next = try phone.launch()
            await #expect(throws: GatehouseError(.signedOut)) { try await next.getProfile() }
        }
    }
}

/// What a session tells of its ends.
private final class Seen: Sendable {
    private let reasons = Mutex<[SignOutReason?]>([])

    var ends: [SignOutReason?] { reasons.withLock { $0 } }

    init(_ session: GatehouseSession) {
        let changes = session.changes()
        Task { [weak self] in
            for await case .signedOut(let reason) in changes { self?.reasons.withLock { $0.append(reason) } }
        }
    }
}
