import Foundation
import GatehouseServiceContracts
import Postgres
import ServiceKitPostgres

/// The channels that Gatehouse knows. Apple's list decides which exist.
struct PushChannelStore: Sendable {
    /// Channels of a page.
    static let pageSize = 1000

    let database: PostgresPool

    /// Keeps a channel whose storage is known. A later call with the same changes nothing.
    func keep(_ channel: PushChannel) async throws(PostgresError) {
        try await database.query(
            """
            INSERT INTO push_channels (id, bundle_id, environment, channel_id, storage)
            VALUES (\(channel.id), \(channel.bundleId), \(channel.environment.rawValue), \(channel.channelId),
                \(channel.storage?.rawValue))
            ON CONFLICT (id) DO UPDATE SET storage = excluded.storage
            """)
    }

    /// Takes over Apple's list of an app's channels.
    ///
    /// - Parameter age: how long ago it was requested. A channel that was created since may be missing in it.
    func reconcile(
        _ channelIDs: [String], of bundleID: String, in environment: PushEnvironment, age: Duration
    ) async throws(PostgresError) {
        let ids = channelIDs.map { PushChannelRules.id(ofChannel: $0, app: bundleID, in: environment) }
        try await database.query(
            """
            SELECT reconcile_push_channels(
                \(bundleID), \(environment.rawValue), \(ids), \(channelIDs), \(age / .seconds(1)))
            """)
    }

    func channels(
        of bundleID: String, in environment: PushEnvironment, after id: UUID?
    ) async throws(PostgresError) -> PushChannelList {
        let rows = try await database.query(
            """
            SELECT id, channel_id, bundle_id, environment, storage FROM push_channels
            WHERE bundle_id = \(bundleID) AND environment = \(environment.rawValue)
              AND (\(id)::uuid IS NULL OR id > \(id)) ORDER BY id LIMIT \(Self.pageSize + 1)
            """)
        let page = try rows.prefix(Self.pageSize).map { row throws(PostgresError) in try PushChannel(row) }
        return PushChannelList(
            channels: page, next: rows.count > Self.pageSize ? page.last?.id.uuidString.lowercased() : nil)
    }

    func channel(_ id: UUID) async throws(PostgresError) -> PushChannel? {
        let rows = try await database.query(
            "SELECT id, channel_id, bundle_id, environment, storage FROM push_channels WHERE id = \(id)")
        return try rows.first.map { row throws(PostgresError) in try PushChannel(row) }
    }

    func remove(_ id: UUID) async throws(PostgresError) {
        try await database.query("DELETE FROM push_channels WHERE id = \(id)")
    }

    /// The consequences of Apple's answers to broadcasts for their channels.
    func apply(_ outcomes: [ClaimOutcome]) async throws(PostgresError) {
        for outcome in outcomes {
            let id = outcome.claim.target.device
            switch outcome.decision.registration {
            case .pauseChannel(let until):
                try await database.query(
                    "UPDATE push_channels SET paused_until = greatest(paused_until, \(until)) WHERE id = \(id)")
            case .removeChannel: try await remove(id)
            case .none, .accepted, .invalid, .pause: continue
            }
        }
    }
}

extension PushChannel {
    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        self.init(
            id: try row.decode("id"), channelId: try row.decode("channel_id"),
            bundleId: try row.decode("bundle_id"),
            environment: PushEnvironment(rawValue: try row.decode("environment")),
            storage: try row.decode("storage", as: String?.self).flatMap(PushChannelStorage.init(rawValue:)))
    }
}

extension BroadcastChannel {
    /// Of a push with its channel; `nil` for a push to devices.
    init?(_ row: PostgresRow) throws(PostgresError) {
        guard let id = try row.decode("channel", as: UUID?.self) else { return nil }
        self.init(
            id: id, channelID: try row.decode("channel_id"),
            storage: try row.decode("storage", as: String?.self).flatMap(PushChannelStorage.init(rawValue:)),
            pausedUntil: try row.decode("paused_until"))
    }
}
