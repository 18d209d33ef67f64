import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import Hummingbird
import Postgres
import ServiceKitPostgres

/// The tags of users in PostgreSQL, each under its full name in a ``TagSpace``.
struct UserTagStore: Sendable {
    let database: PostgresPool

    /// The user's tags in a space, in order.
    func tags(of user: UUID, in space: TagSpace) async throws(PostgresError) -> [String] {
        try await database.query(
            """
            SELECT tag FROM user_tags
            WHERE bucket = \(Bucket(user: user)) AND user_id = \(user) AND starts_with(tag, \(space.prefix))
            ORDER BY tag
            """
        ).decode(String.self).map(TagSpace.tag)
    }

    /// The user's tags in all spaces, in order.
    func tags(of user: UUID) async throws(PostgresError) -> [String] {
        let names = try await database.query(
            """
            SELECT tag FROM user_tags
            WHERE bucket = \(Bucket(user: user)) AND user_id = \(user) AND position(' ' IN tag) > 0
            """
        ).decode(String.self)
        return Set(names.map(TagSpace.tag)).sorted()
    }

    /// Replaces the user's tags in a space. Returns `false` for a user who was erased.
    func set(_ tags: Set<String>, of user: UUID, in space: TagSpace) async throws -> Bool {
        let bucket = Bucket(user: user)
        let names = tags.sorted().map(space.name)
        return try await database.withTransaction { transaction in
            try await transaction.query(Self.lock(user))
            let erased = try await transaction.query(
                """
                SELECT true FROM erased_users WHERE bucket = \(bucket) AND user_hash = sha256(uuid_send(\(user)))
                """)
            guard erased.isEmpty else { return false }
            try await transaction.query(
                """
                DELETE FROM user_tags WHERE bucket = \(bucket) AND user_id = \(user)
                    AND starts_with(tag, \(space.prefix)) AND tag <> ALL (\(names))
                """)
            _ = try await transaction.commit(
                after: """
                    INSERT INTO user_tags (bucket, user_id, tag) SELECT \(bucket), \(user), tag
                    FROM unnest(\(names)) AS tag ON CONFLICT (bucket, user_id, tag) DO UPDATE SET written_at = now()
                    WHERE user_tags.written_at < now() - interval '1 day'
                    """)
            return true
        }
    }

    /// Removes the user's tags in all spaces, for good. Idempotent.
    func erase(_ user: UUID) async throws {
        let bucket = Bucket(user: user)
        try await database.withTransaction { transaction in
            // A call that sets tags at the same moment either commits before the deletion or sees the entry.
            try await transaction.query(Self.lock(user))
            try await transaction.query(
                """
                INSERT INTO erased_users (bucket, user_hash) VALUES (\(bucket), sha256(uuid_send(\(user))))
                ON CONFLICT (bucket, user_hash) DO NOTHING
                """)
            _ = try await transaction.commit(
                after: "DELETE FROM user_tags WHERE bucket = \(bucket) AND user_id = \(user)")
        }
    }

    /// One call at a time for a user, whose tags are then those of the last call.
    private static func lock(_ user: UUID) -> PostgresQuery {
        "SELECT pg_advisory_xact_lock(uuid_hash_extended(\(user), 1))"
    }
}

/// A name space of tags: of one caller, or of several to which the operator has given the same one. Callers neither see
/// nor change tags in other spaces.
struct TagSpace: Sendable, Equatable {
    /// Visible ASCII characters, as tags are.
    let name: String

    var prefix: String { name + " " }

    /// The full name of a tag, which is unique among all spaces.
    func name(_ tag: String) -> String { prefix + tag }

    /// The tag of a full name.
    static func tag(_ name: String) -> String { String(name.drop { $0 != " " }.dropFirst()) }
}

/// The tags of users, for the services that push.
struct UserTagRoutes: Sendable {
    let store: UserTagStore
    let callers: PushCallers

    func add(to router: ServiceRouter) {
        router.internal(callers: callers.names)
            .get("/users/{id}/tags", use: get)
            .put("/users/{id}/tags", use: put)
    }

    private func get(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        try .json(UserTags(tags: await store.tags(of: context.uuid("id"), in: callers.caller(context).tagSpace)))
    }

    private func put(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let user = try context.uuid("id")
        let tags = try await request.decode(UserTags.self).tags
        guard SegmentRules.areTags(tags) else { throw Problem.invalid("tags", SegmentRules.tagRule) }
        guard try await store.set(Set(tags), of: user, in: callers.caller(context).tagSpace) else {
            throw Problem(.notFound, "The user's account was deleted.")
        }
        return .empty()
    }
}
