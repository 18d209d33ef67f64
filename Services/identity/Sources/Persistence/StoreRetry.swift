import Contracts
import Foundation
import Postgres
import ServiceKit

/// Another transaction has, or had meanwhile, a user whom this one needs beside those that it has locked.
struct UserIsContended: Error {
    var userID: UUID
}

extension PostgresPool {
    private static var mostAttempts: Int { 10 }

    /// Runs a transaction, and runs it again where another one was in its way: nothing of it has happened then.
    ///
    /// - PostgreSQL has ended it to resolve a deadlock. The order of locks (see ``AccountStore``) leaves few.
    /// - It needs a further user whom somebody else has. It waits for that user without having a number, and gets a
    ///   higher one.
    func withRetriedTransaction<Value: Sendable>(
        deadline: ContinuousClock.Instant? = nil, _ body: (PostgresTransaction) async throws -> Value
    ) async throws -> Value {
        var deadlocks = 0
        for _ in 0..<Self.mostAttempts {
            do {
                return try await withTransaction(deadline: deadline, body)
            } catch let error as PostgresError where error.sqlState == .deadlockDetected && deadlocks < 2 {
                deadlocks += 1
            } catch let error as UserIsContended {
                try await query("SELECT id FROM users WHERE id = \(error.userID) FOR UPDATE", deadline: deadline)
            }
            // The other transaction has to go on before this one takes the same locks again.
            try await Task.sleep(for: .milliseconds(.random(in: 10...50)))
        }
        throw StoreConflict()
    }
}

/// At each attempt somebody else changed the same rows first. The client may repeat its request.
struct StoreConflict: ProblemConvertible {
    var problem: Problem { Problem(.unavailable) }
}
