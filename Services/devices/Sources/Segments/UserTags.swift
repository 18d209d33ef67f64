import Contracts
import Foundation
import Hummingbird
import Postgres
import ServiceKit
import ServiceKitPostgres

/// The tags of users in PostgreSQL.
struct UserTagStore: Sendable {
    let database: PostgresPool

    func tags(of user: UUID) async throws(PostgresError) -> [String] {
        try await database.query(
            "SELECT tag FROM user_tags WHERE bucket = \(Bucket(user: user)) AND user_id = \(user) ORDER BY tag"
        ).decode(String.self)
    }

    /// Replaces the user's tags.
    func set(_ tags: Set<String>, of user: UUID) async throws {
        let bucket = Bucket(user: user)
        try await database.withTransaction { transaction in
            // One call at a time for a user, whose tags are then those of the last call.
            try await transaction.query("SELECT pg_advisory_xact_lock(uuid_hash_extended(\(user), 1))")
            try await transaction.query(
                """
                DELETE FROM user_tags WHERE bucket = \(bucket) AND user_id = \(user) AND tag <> ALL (\(tags.sorted()))
                """)
            _ = try await transaction.commit(
                after: """
                    INSERT INTO user_tags (bucket, user_id, tag) SELECT \(bucket), \(user), tag
                    FROM unnest(\(tags.sorted())) AS tag ON CONFLICT (bucket, user_id, tag) DO NOTHING
                    """)
        }
    }
}

/// The tags of users, for the services that push.
struct UserTagRoutes: Sendable {
    let store: UserTagStore
    let callers: Set<String>

    func add(to router: ServiceRouter) {
        router.internal(callers: callers)
            .get("/users/{id}/tags", use: get)
            .put("/users/{id}/tags", use: put)
    }

    private func get(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        try .json(UserTags(tags: await store.tags(of: context.uuid("id"))))
    }

    private func put(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let user = try context.uuid("id")
        let tags = try await request.decode(UserTags.self).tags
        guard SegmentRules.areTags(tags) else { throw Problem.invalid("tags", SegmentRules.tagRule) }
        try await store.set(Set(tags), of: user)
        return .empty()
    }
}
