import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import TokensService

@Suite struct SessionStoreTests {
    @Test func sessionsAreListedTheLastUsedFirst() async throws {
        try await TokensFixture.with { tokens in
            let user = User.sample()
            let phone = try await tokens.signIn(user, device: SessionDevice(name: "Phone", model: "iPhone18,1"))
            let tablet = try await tokens.signIn(user)
            _ = try await tokens.signIn()
            try await tokens.age(phone.sessionID, by: 10)
            let listed = try await tokens.store.list(of: user.id, current: phone.sessionID)
            #expect(listed.map(\.id) == [tablet.sessionID, phone.sessionID])
            #expect(listed.map(\.current) == [false, true])
            #expect(listed[1].device == SessionDevice(name: "Phone", model: "iPhone18,1"))
            try await tokens.age(phone.sessionID, by: 2_592_000)
            #expect(try await tokens.store.list(of: user.id, current: nil).count == 1)
        }
    }

    @Test func theHighestVersionOfTheUserWins() async throws {
        try await TokensFixture.with { tokens in
            var user = User.sample()
            let session = try await tokens.signIn(user, version: 3)
            user.role = "admin"
            try await tokens.store.update(UserSnapshot(user: user, version: 5))
            user.role = "stale"
            try await tokens.store.update(UserSnapshot(user: user, version: 4))
            _ = try await tokens.signIn(user, version: 4)
            let reading = try #require(try await tokens.store.read(session.sessionID))
            #expect(reading.grant.user.role == "admin")
            // The snapshot of a user without sessions is not stored.
            try await tokens.store.update(UserSnapshot(user: .sample(), version: 1))
            #expect(try await tokens.count("users") == 1)
        }
    }

    @Test func aboveTheLimitTheLeastRecentlyUsedSessionEnds() async throws {
        try await TokensFixture.with { tokens in
            let user = User.sample()
            var sessions: [RefreshToken] = []
            for _ in 0..<3 { sessions.append(try await tokens.signIn(user, limit: 3)) }
            try await tokens.age(sessions[1].sessionID, by: 100)
            let fourth = try await tokens.signIn(user, limit: 3)
            let left = try await tokens.store.list(of: user.id, current: nil).map(\.id)
            #expect(Set(left) == Set([sessions[0], sessions[2], fourth].map(\.sessionID)))
            #expect(try await tokens.count("\(revocations) WHERE reason = 'sessionLimit'") == 1)
        }
    }

    @Test func revocationsAreTheUsersOwn() async throws {
        try await TokensFixture.with { tokens in
            let user = User.sample()
            let mine = try await tokens.signIn(user)
            let other = try await tokens.signIn()
            #expect(try await !tokens.store.revoke(other.sessionID, of: user.id, reason: .logout))
            #expect(try await tokens.store.revoke(mine.sessionID, of: user.id, reason: .logout))
            #expect(try await !tokens.store.revoke(mine.sessionID, of: user.id, reason: .logout))
            try await tokens.store.revoke(other.sessionID, holding: [1, 2, 3], reason: .logout)
            #expect(try await tokens.count("sessions") == 1)
            try await tokens.store.revoke(other.sessionID, holding: other.hash, reason: .logout)
            #expect(try await tokens.count("sessions") == 0)
            #expect(try await tokens.count("\(revocations)") == 2)
        }
    }

    @Test func allButOneSessionEnd() async throws {
        try await TokensFixture.with { tokens in
            let user = User.sample()
            let kept = try await tokens.signIn(user)
            for _ in 0..<3 { _ = try await tokens.signIn(user) }
            let stranger = try await tokens.signIn()
            try await tokens.store.revokeAll(of: user.id, except: kept.sessionID, reason: .passwordChanged)
            #expect(try await tokens.generation(of: kept.sessionID) == 0)
            #expect(try await tokens.generation(of: stranger.sessionID) == 0)
            #expect(try await tokens.count("sessions") == 2)
            #expect(try await tokens.count("\(revocations) WHERE reason = 'passwordChanged'") == 3)
        }
    }

    /// A revocation that comes late does not end a session that was made after its cause.
    @Test func sessionsOfNewerCredentialsAreSpared() async throws {
        try await TokensFixture.with { tokens in
            let user = User.sample()
            _ = try await tokens.signIn(user, credentialsVersion: 1)
            let newer = [
                try await tokens.signIn(user, credentialsVersion: 2),
                try await tokens.signIn(user, credentialsVersion: 3),
            ]
            try await tokens.store.revokeAll(of: user.id, below: 2, reason: .passwordChanged)
            let left = try await tokens.store.list(of: user.id, current: nil).map(\.id)
            #expect(Set(left) == Set(newer.map(\.sessionID)))
            #expect(try await tokens.count("\(revocations)") == 1)
        }
    }

    @Test func noSessionIsMadeTwice() async throws {
        try await TokensFixture.with { tokens in
            let user = User.sample()
            let first = try await tokens.signIn(user, limit: 1)
            await #expect(throws: SessionRefusal.idTaken) {
                try await tokens.signIn(user, sessionID: first.sessionID)
            }
            let reading = try #require(try await tokens.store.read(first.sessionID))
            #expect(reading.state.currentHash == first.hash)
            #expect(try await tokens.count("users") == 1)
        }
    }

    @Test("A user signs out everywhere: sign-ins that began before are refused for a while")
    func signOutMemory() async throws {
        try await TokensFixture.with { tokens in
            let user = User.sample()
            let start = ContinuousClock.now
            _ = try await tokens.signIn(user)
            try await tokens.store.signOut(user.id, except: nil)
            await #expect(throws: SessionRefusal.signedOut) { try await tokens.signIn(user, since: start) }
            try await tokens.database.pool.query(
                "UPDATE users SET signed_out_at = signed_out_at - \(SessionStore.signOutMemory) * interval '1 second'")
            _ = try await tokens.signIn(user, since: start)
        }
    }

    /// Sign-ins that began before the user signed out everywhere leave no session, in whatever order both arrive.
    @Test func noSignInOutrunsASignOut() async throws {
        try await TokensFixture.with { tokens in
            for _ in 0..<10 {
                let user = User.sample()
                let spared = try await tokens.signIn(user)
                let start = ContinuousClock.now
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 { group.addTask { _ = try? await tokens.signIn(user, since: start) } }
                    group.addTask {
                        // Others may hold the user's lock for too long; the caller then asks again.
                        try await eventually("the user is signed out") {
                            let signOut: Void? = try? await tokens.store.signOut(user.id, except: spared.sessionID)
                            return signOut != nil
                        }
                    }
                    try await group.waitForAll()
                }
                let left = try await tokens.store.list(of: user.id, current: nil).map(\.id)
                #expect(left == [spared.sessionID])
                // On a busy machine it takes a moment until a later sign-in counts as later.
                try await eventually("sign-ins that begin now succeed") {
                    await (try? tokens.signIn(user)) != nil
                }
            }
        }
    }

    @Test func anErasedUserLeavesNoRowAndGetsNoSession() async throws {
        try await TokensFixture.with { tokens in
            let user = User.sample()
            _ = try await tokens.signIn(user)
            try await tokens.store.revokeAll(of: user.id, reason: .accountDeleted)
            await #expect(throws: SessionRefusal.userErased) { try await tokens.signIn(user, version: 9) }
            #expect(try await tokens.count("sessions") == 0)
            #expect(try await tokens.count("users") == 0)
        }
    }

    /// A sign-in during an erasure leaves nothing, in whatever order both arrive.
    @Test func noSignInOutrunsAnErasure() async throws {
        try await TokensFixture.with { tokens in
            for _ in 0..<10 {
                let user = User.sample()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 { group.addTask { _ = try? await tokens.signIn(user) } }
                    group.addTask {
                        // Others may hold the user's lock for too long; the caller then asks again.
                        try await eventually("the user is erased") {
                            let erasure: Void? = try? await tokens.store.revokeAll(of: user.id, reason: .accountDeleted)
                            return erasure != nil
                        }
                    }
                    try await group.waitForAll()
                }
                let left = try await tokens.store.list(of: user.id, current: nil)
                #expect(left.isEmpty)
            }
            #expect(try await tokens.count("users") == 0)
        }
    }

    /// The absolute expiry holds however often a session is used, and however long its idle lifetime is.
    @Test func sessionsEndAtTheEarlierOfIdleAndAbsoluteExpiry() async throws {
        try await TokensFixture.with(lifetimes: .init(access: 10, idle: 100, absolute: 250)) { tokens in
            let refresher = try tokens.refresher()
            let idle = try await tokens.signIn()
            try await tokens.age(idle.sessionID, by: 100)
            #expect(try await refresher.refusal(of: idle) == .invalidRefreshToken)

            var token = try await tokens.signIn()
            for left in [100, 70] {
                try await tokens.age(token.sessionID, by: 90)
                let issued = try await refresher.refresh(token)
                #expect(((left - 20)...left).contains(Int(issued.refreshExpiresIn)))
                token = issued.refresh
            }
            try await tokens.age(token.sessionID, by: 70)
            #expect(try await refresher.refusal(of: token) == .invalidRefreshToken)
        }
    }
}
