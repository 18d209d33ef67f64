import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityCore

extension ServiceTests {
    /// No session outlives its credentials: if they change between their verification and the answer, it is revoked.
    @Suite struct SessionIssuerTests {
        /// Runs `change` during a sign-in, after its session is made and before its answer.
        private func signIn(
            _ identity: Harness, whileHappens change: @escaping @Sendable (AccountStore) async throws -> Void
        ) async throws -> TestHTTPClient.Response {
            let once = Once()
            identity.tokens.state.withLock { state in
                state.afterSession = {
                    guard once.take() else { return }
                    do { try await change(AccountStore(database: identity.database)) } catch { Issue.record(error) }
                }
            }
            return try await identity.login("ada@example.com")
        }

        /// How many sessions of the user's the audit log knows of.
        private func signIns(of id: UUID, _ identity: Harness) async throws -> Int {
            try await identity.database.query(
                "SELECT session_id FROM audit_entries WHERE user_id = \(id) AND event = 'signed_in'"
            ).count
        }

        @Test func disabling() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                let answer = try await signIn(identity) { accounts in
                    _ = try await accounts.setState(.disabled, of: id, actor: .operator)
                }
                #expect(answer.code == "ACCOUNT_DISABLED")
                try await eventually("no session remains") { identity.tokens.live(id) == 0 }
                #expect(try await signIns(of: id, identity) == 1, "that of the registration")
            }
        }

        @Test func deleting() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                let answer = try await signIn(identity) { accounts in
                    let deleted = try await identity.send(.DELETE, "/v1/auth/account", as: id)
                    #expect(deleted.status == 202)
                }
                #expect(answer.code == "INVALID_CREDENTIALS")
                #expect(identity.tokens.live(id) == 0)
                try await eventually("no row remains") { try await identity.tables(of: id).isEmpty }
                #expect(try await signIns(of: id, identity) == 1, "that of the registration")
            }
        }

        @Test func changingThePassword() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                let answer = try await signIn(identity) { accounts in
                    let changed = try await identity.send(
                        .POST, "/v1/auth/password", as: id,
                        json: #"{"currentPassword":"tulpenzwiebel","newPassword":"kaffeekuchen"}"#)
                    #expect(changed.status == 204)
                }
                #expect(answer.code == "INVALID_CREDENTIALS")
                #expect(identity.tokens.live(id) == 0)
                #expect(try await signIns(of: id, identity) == 1, "that of the registration")
            }
        }

        @Test func aChangeThatDoesNotTouchTheCredentialsCostsNothing() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                let answer = try await signIn(identity) { accounts in
                    _ = try await accounts.rename(id, to: DisplayName.read("Ada"))
                }
                #expect(answer.status == 200)
                #expect(identity.tokens.live(id) == 2)
            }
        }

        @Test func aChangeThatLeavesThePasswordIsVerifiedAgain() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                let answer = try await signIn(identity) { accounts in
                    _ = try await accounts.setState(.disabled, of: id, actor: .operator)
                    _ = try await accounts.setState(.active, of: id, actor: .operator)
                }
                #expect(answer.status == 200)
                #expect(identity.tokens.state.withLock { $0.revokedUnused.count } == 1)
                #expect(try await signIns(of: id, identity) == 2, "the registration and the second attempt")
            }
        }

        @Test func aSessionThatCannotBeTakenBackNowIsTakenBackLater() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                let answer = try await signIn(identity) { accounts in
                    _ = try await accounts.rename(id, to: nil)
                    try await identity.database.query("UPDATE users SET credentials_version = credentials_version + 1")
                    identity.tokens.state.withLock { $0.isDown = true }
                }
                #expect(answer.code == "UNAVAILABLE")
                #expect(identity.tokens.live(id) == 2)
                identity.tokens.state.withLock { $0.isDown = false }
                try await identity.database.query("UPDATE outbox SET next_attempt_at = now()")
                try await eventually("it is taken back") { identity.tokens.live(id) == 1 }
            }
        }

        @Test func registeringWhileBeingDeleted() async throws {
            try await withIdentity { identity in
                let once = Once()
                identity.tokens.state.withLock { state in
                    state.afterSession = {
                        guard once.take() else { return }
                        do {
                            let id = try await identity.database.query("SELECT id FROM users")[0].decode(UUID.self)
                            #expect(try await identity.send(.DELETE, "/v1/auth/account", as: id).status == 202)
                        } catch {
                            Issue.record(error)
                        }
                    }
                }
                let answer = try await identity.post(
                    "/v1/auth/register", RegisterRequest(identifier: "ada@example.com", password: "tulpenzwiebel"))
                #expect(answer.code == "INVALID_CREDENTIALS")
                #expect(identity.tokens.liveCount == 0)
                try await eventually("no row remains") { try await identity.outboxCount == 0 }
                #expect(try await identity.database.query("SELECT id FROM users").isEmpty)
            }
        }

        /// tokens hears of a deletion before it is asked for the session.
        @Test func deletingBeforeThereIsASession() async throws {
            try await withIdentity { identity in
                let auth = try await identity.signIn("001")
                let once = Once()
                identity.tokens.state.withLock { state in
                    state.beforeSession = {
                        guard once.take() else { return }
                        let deleted = try? await identity.send(.DELETE, "/v1/auth/account", as: auth.user.id)
                        #expect(deleted?.status == 202)
                    }
                }
                #expect(try await identity.apple(identity.apple.token(sub: "001")).code == "INVALID_APPLE_TOKEN")
                #expect(identity.tokens.liveCount == 0)
                #expect(identity.tokens.state.withLock { $0.revokedUnused.isEmpty })
            }
        }

        /// A late revocation ends the sessions from before the change, and none that are newer.
        @Test func aLateRevocationSparesWhatIsNewer() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                identity.tokens.state.withLock { $0.isDown = true }
                let changed = try await identity.send(
                    .POST, "/v1/auth/password", as: id,
                    json: #"{"currentPassword":"tulpenzwiebel","newPassword":"kaffeekuchen"}"#)
                #expect(changed.status == 204)
                identity.tokens.state.withLock { $0.isDown = false }
                #expect(try await identity.login("ada@example.com", "kaffeekuchen").status == 200)
                #expect(identity.tokens.live(id) == 2)
                try await identity.database.query("UPDATE outbox SET next_attempt_at = now()")
                try await eventually("the outbox is empty") { try await identity.outboxCount == 0 }
                #expect(identity.tokens.state.withLock { $0.revocations.count } == 1)
                #expect(identity.tokens.live(id) == 1)
            }
        }

        /// tokens ignores the snapshot of a user without a session. It is sent again when the first session is made.
        @Test func aChangeThatWasToldTooEarlyIsToldAgain() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                let once = Once()
                identity.tokens.state.withLock { state in
                    (state.sessions, state.snapshots) = ([:], [:])
                    state.beforeSession = {
                        guard once.take() else { return }
                        do {
                            let accounts = AccountStore(database: identity.database)
                            _ = try await accounts.change(
                                id, to: AccountChange(role: Role("courier")), actor: .operator)
                            try await eventually("the outbox is empty") { try await identity.outboxCount == 0 }
                        } catch {
                            Issue.record(error)
                        }
                    }
                }
                #expect(try await identity.login("ada@example.com").status == 200)
                try await eventually("tokens knows the role") {
                    identity.tokens.state.withLock { $0.snapshots[id]?.user.role } == "courier"
                }
            }
        }

        @Test func aSessionWhoseAnswerWasLostIsTakenBack() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                identity.tokens.state.withLock { $0.losesAnswers = true }
                #expect(try await identity.login("ada@example.com").code == "UNAVAILABLE")
                try await eventually("it is taken back") { identity.tokens.live(id) == 1 }
                // Once more later: the request might still have been under way.
                #expect(try await identity.outboxCount == 1)
                try await identity.database.query("UPDATE outbox SET next_attempt_at = now()")
                try await eventually("the outbox is empty") { try await identity.outboxCount == 0 }
                let revokedUnused = identity.tokens.state.withLock { $0.revokedUnused }
                #expect(revokedUnused.count == 2)
                #expect(revokedUnused.first == revokedUnused.last)
            }
        }

        /// Neither tokens' answer arrives, nor can the outbox be written before the client's answer.
        @Test func aSessionWhoseRevocationCannotBeEnqueuedIsTakenBackLater() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                identity.tokens.state.withLock { $0.losesAnswers = true }
                try await identity.database.query(
                    "ALTER TABLE outbox ADD CONSTRAINT full_disk CHECK (kind <> 'take_back') NOT VALID")
                #expect(try await identity.login("ada@example.com").code == "UNAVAILABLE")
                try await identity.database.query("ALTER TABLE outbox DROP CONSTRAINT full_disk")
                try await eventually("the outbox has the revocation") { try await identity.outboxCount == 1 }
                #expect(identity.tokens.live(id) == 1)
            }
        }

        /// The request's deadline passes while tokens makes the session. It must not stop the revocation, nor the entry
        /// in the outbox.
        @Test func aSessionThatIsMadeTooLateIsTakenBack() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                let made = Mutex(0)
                identity.tokens.state.withLock { state in
                    state.afterSession = {
                        made.withLock { $0 += 1 }
                        try? await Task.sleep(for: .seconds(3))
                    }
                }
                let login = String(
                    decoding: try JSON.encode(LoginRequest(identifier: "ada@example.com", password: "tulpenzwiebel")),
                    as: UTF8.self)
                // On a busy machine the deadline passes before the session is made.
                try await eventually("a session is made") {
                    let answer = try await identity.send(
                        .POST, "/v1/auth/login", json: login, headers: [HeaderName.deadline: "1000"])
                    #expect(answer.code == "UNAVAILABLE")
                    return made.withLock { $0 } > 0
                }
                try await eventually("it is taken back") {
                    let isEnqueued = try await identity.outboxCount > 0
                    return isEnqueued && identity.tokens.live(id) == 1
                }
            }
        }

        @Test func tokensHearsHowLongASignInHasTaken() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                let start = ContinuousClock.now
                #expect(try await identity.login("ada@example.com").status == 200)
                let most = (ContinuousClock.now - start) / .seconds(1)
                let ages = identity.tokens.state.withLock { state in
                    state.sessions.values.filter { $0.snapshot.user.id == id }.map(\.signInAge)
                }
                #expect(ages.count == 2)
                #expect(ages.contains { $0 > 0 && $0 < most })
            }
        }

        /// Sign-ins and a deletion at the same time: whatever their order, no session and no row is left.
        @Test func manySignInsAndADeletion() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<20 {
                        group.addTask {
                            let answer = try await identity.login("ada@example.com")
                            // 503: on a busy machine twenty hashes may be more than are ready in time.
                            #expect([200, 401, 503].contains(answer.status))
                        }
                    }
                    group.addTask {
                        let answer = try await identity.send(.DELETE, "/v1/auth/account", as: id)
                        #expect(answer.status == 202)
                    }
                    try await group.waitForAll()
                }
                try await eventually("no session remains") { identity.tokens.live(id) == 0 }
                try await eventually("no row remains") { try await identity.tables(of: id).isEmpty }
            }
        }
    }
}
