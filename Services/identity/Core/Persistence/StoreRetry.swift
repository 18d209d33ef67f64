import Foundation
import GatehouseLimits
import GatehouseServiceContracts
import GatehouseServiceKit
package import Postgres

/// Another transaction has locked or changed a further user that this transaction needs.
struct UserIsContended: Error {
    var userID: UUID
}

extension PostgresPool {
    private static var maximumRuns: Int { 10 }

    /// Runs a transaction, and retries it after a conflict with another one. A transaction that failed has changed
    /// nothing. Two conflicts are retried:
    ///
    /// - PostgreSQL has aborted the transaction to resolve a deadlock. The order of locks (see ``AccountStore``) makes
    ///   this rare.
    /// - The transaction needs a further user that another transaction has locked. The retry first waits for that user
    ///   outside a transaction.
    ///
    /// The current deadline for PostgreSQL applies to all runs together.
    package func withRetriedTransaction<Value: Sendable>(
        _ body: (PostgresTransaction) async throws -> Value
    ) async throws -> Value {
        let deadline = Deadline.current?.forDatabase.instant
        var deadlocks = 0
        for _ in 0..<Self.maximumRuns {
            do {
                return try await withTransaction(deadline: deadline, body)
            } catch let error as PostgresError where error.sqlState == .deadlockDetected && deadlocks < 2 {
                deadlocks += 1
            } catch let error as UserIsContended {
                try await query("SELECT id FROM users WHERE id = \(error.userID) FOR UPDATE", deadline: deadline)
            }
            // The pause lets the other transaction proceed before this one takes the same locks again.
            try await Task.sleep(for: .milliseconds(.random(in: 10...50)))
        }
        throw StoreConflict()
    }
}

/// At each run another transaction changed the same rows first. The client may repeat its request.
package struct StoreConflict: ProblemConvertible {
    var problem: Problem { Problem(.unavailable) }

    package init() {}
}

/// Calls `body` until it returns a value, at most three times. It returns `nil` where another request has changed the
/// same rows first.
/// - Throws: ``StoreConflict`` after the third time.
package func retryingConflicts<Value>(_ body: () async throws -> Value?) async throws -> Value {
    for _ in 0..<3 {
        if let value = try await body() { return value }
    }
    throw StoreConflict()
}
