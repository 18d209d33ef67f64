import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import TokensService

@Suite struct SessionTableTests {
    /// Rotations are heap-only updates: they write no index and reuse the row's page. Else every refresh would grow the
    /// table.
    @Test func rotationsAreHeapOnlyUpdates() async throws {
        try await TokensFixture.with { tokens in
            var token = try await tokens.signIn()
            for _ in 0..<200 {
                let next = RefreshToken(sessionID: token.sessionID, generation: token.generation + 1, keys: tokens.keys)
                let sealed = try tokens.keys.seal(next, under: token)
                #expect(
                    try await tokens.store.rotate(token, to: next, sealed: sealed, ipAddress: nil) != nil
                )
                token = next
            }
            // PostgreSQL's statistics follow a moment later.
            try await eventually("200 updates, all of them heap-only") {
                try await tokens.database.pool.query("SELECT pg_stat_force_next_flush()")
                let updates = try await tokens.database.pool.query(
                    """
                    SELECT sum(n_tup_upd)::bigint, sum(n_tup_hot_upd)::bigint FROM pg_stat_user_tables
                    WHERE relname LIKE 'sessions%'
                    """
                ).decode((Int, Int).self)
                // A page that is just full may send a row to another one.
                return updates[0].0 == 200 && updates[0].1 >= 180
            }
        }
    }
}
