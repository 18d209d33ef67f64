import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

extension FaultTests {
    /// Identity is killed while it deletes an account, at each step: what was begun goes on when it is back.
    @Suite struct Deletions {
        let system = GatehouseSystem.current
        var journey: Journey { system.journey }

        /// Those of identity's `DeletionStep`, in their order, and the revocation of Apple's grant beside them.
        enum Step: String, CaseIterable {
            case revokeSessions, eraseDevices, sweepSessions, revokeAtApple
        }

        private struct Log: Decodable {
            struct Entry: Decodable {
                var path: String
            }
            var entries: [Entry]
        }

        /// A step is done and then noted. Between the two is where a step is done twice.
        @Test(arguments: Step.allCases, [false, true]) func killedAfterAStep(step: Step, isNoted: Bool) async throws {
            let user = try await makeUser()
            let hold = try await hold(step)
            let deletion = Task { try await delete(user) }
            let backend = try await waiting(for: hold)
            // The answer does not wait for the other steps.
            if step != .revokeSessions { _ = try await deletion.value }
            await system.process("identity").kill()
            if !isNoted {
                // Otherwise PostgreSQL commits the statement that it has received, though its client is gone.
                try await hold.query("SELECT pg_terminate_backend(\(backend), 60000)")
            }
            await hold.close()
            let answer = try await deletion.value
            #expect(answer.status == (step == .revokeSessions ? 503 : 202), "\(answer.text)")
            #expect(try await journey.refresh(user.session.refreshToken).code == "INVALID_REFRESH_TOKEN")
            try await goesOn(user)
        }

        @Test func killedBeforeTheFirstStep() async throws {
            let user = try await makeUser()
            await system.process("tokens").suspend()
            let deletion = Task { try await delete(user) }
            try await eventually("the deletion is begun") { try await isUnderWay(user) }
            await system.process("identity").kill()
            system.process("tokens").resume()
            #expect(try await deletion.value.status == 503)
            try await goesOn(user)
        }

        // MARK: The user

        private struct Person {
            var session: AuthResponse
            var apple: Journey.AppleSignInAnswer
            var revocations: Int
            var texts: [String] {
                [session.user.id.uuidString.lowercased(), apple.sub, session.user.email ?? apple.sub, "Hopper"]
            }
        }

        /// A user who has rows in every service and a consent at Apple.
        private func makeUser() async throws -> Person {
            let apple = try await journey.appleToken(.init(email: Journey.uniqueEmail(), emailVerified: true))
            let session = try await journey.signInWithApple(
                AppleSignInRequest(
                    identityToken: apple.identityToken, authorizationCode: apple.authorizationCode,
                    fullName: .init(givenName: "Grace", familyName: "Hopper")))
            let device = try await journey.api.call(
                "POST", "/v1/devices/register", bearer: session.accessToken, json: journey.registration())
            try #require(device.status == 200, "\(device.text)")
            try await eventually("Apple's token is kept") {
                try await system.withDatabase(of: "identity") { database in
                    try await database.query("SELECT FROM outbox WHERE user_id = \(session.user.id)").isEmpty
                }
            }
            let user = Person(session: session, apple: apple, revocations: try await revocations())
            for database in system.databases.values {
                #expect(try await GatehouseSystem.rows(mentioning: user.texts, in: database) > 0)
            }
            return user
        }

        private func delete(_ user: Person) async throws -> TestHTTPClient.Response {
            try await journey.api.call("DELETE", "/v1/auth/account", bearer: user.session.accessToken)
        }

        private func revocations() async throws -> Int {
            try await system.apple.get("/simulator/log").decode(Log.self).entries.count { $0.path == "/auth/revoke" }
        }

        private func isUnderWay(_ user: Person) async throws -> Bool {
            try await system.withDatabase(of: "identity") { database in
                try await !database.query(
                    "SELECT FROM outbox WHERE user_id = \(user.session.user.id) AND kind = 'deletion'"
                ).isEmpty
            }
        }

        // MARK: What happens

        /// Blocks the transaction that records the step.
        private func hold(_ step: Step) async throws -> PostgresConnection {
            let database = try await PostgresConnection.patient(system.databases["identity"] ?? "")
            try await database.execute(
                script: """
                    CREATE OR REPLACE FUNCTION held_step() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                        PERFORM pg_advisory_xact_lock(hashtext(coalesce(OLD.task #>> '{deletion,_0}', 'revokeAtApple')));
                        RETURN coalesce(NEW, OLD);
                    END $$;
                    CREATE OR REPLACE TRIGGER held_step_noted BEFORE UPDATE ON outbox FOR EACH ROW
                        WHEN (OLD.kind = 'deletion' AND OLD.task <> NEW.task) EXECUTE FUNCTION held_step();
                    CREATE OR REPLACE TRIGGER held_step_ended BEFORE DELETE ON outbox FOR EACH ROW
                        WHEN (OLD.kind IN ('deletion', 'apple_revocation')) EXECUTE FUNCTION held_step();
                    """)
            try await database.query("SELECT pg_advisory_lock(hashtext(\(step.rawValue)))")
            return database
        }

        /// The PostgreSQL process that waits.
        private func waiting(for hold: PostgresConnection) async throws -> Int32 {
            var backend: Int32?
            try await eventually("the step is done") {
                backend = try await hold.query(
                    "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                ).decode(Int32.self).first
                return backend != nil
            }
            return try #require(backend)
        }

        /// Starts identity again: nothing is left of the user, anywhere.
        private func goesOn(_ user: Person) async throws {
            // As if the time had passed for which the task belonged to the process that is gone.
            try await system.withDatabase(of: "identity") { database in
                _ = try await database.query(
                    "UPDATE outbox SET next_attempt_at = now() WHERE kind IN ('deletion', 'apple_revocation')")
            }
            try await system.process("identity").start()
            for (name, database) in system.databases {
                try await eventually("no row in \(name)") {
                    try await GatehouseSystem.rows(mentioning: user.texts, in: database) == 0
                }
            }
            try await eventually("nothing is left to do") {
                try await system.withDatabase(of: "identity") { database in
                    try await database.query("SELECT FROM outbox WHERE kind IN ('deletion', 'apple_revocation')")
                        .isEmpty
                }
            }
            #expect(try await revocations() > user.revocations)
            #expect(try await journey.refresh(user.session.refreshToken).code == "INVALID_REFRESH_TOKEN")
            let apple = try await journey.appleToken(.init(sub: user.apple.sub))
            let anew = try await journey.signInWithApple(AppleSignInRequest(identityToken: apple.identityToken))
            #expect(anew.user.id != user.session.user.id)
        }
    }
}
