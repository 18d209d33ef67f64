import Crypto
package import Foundation
import GatehouseBytes
package import GatehouseServiceContracts
package import Postgres
import Sealing

/// Stores the devices and networks on which a user has signed in (tables `known_devices`, `known_networks`). Each has
/// its own allowance, which an attacker elsewhere cannot use up. Only an HMAC of a device's `installationId` is stored,
/// under a key that is not in the database.
package struct KnownDeviceStore: Sendable {
    let database: PostgresPool
    private let keys: KeyRing
    private let networkKeys: KeyRing

    /// Devices for each user. Beyond this number, the least recently used are forgotten.
    static let maximum = 20
    /// Days after which an unused device is forgotten.
    static let lifetime = 180
    /// Days after which an unused network is forgotten. Its addresses may then belong to another person.
    static let networkLifetime = 90
    /// In bytes of UTF-8. A shorter identifier, such as a model name, can be guessed.
    static let minimumLength = 16

    /// - Parameter keys: the keys of the passwords' pepper. When a key is removed from its file, the devices that were
    ///   stored under it are forgotten.
    init(database: PostgresPool, keys: KeyRing) {
        self.database = database
        self.keys = keys.derived(for: "gatehouse identity known devices")
        networkKeys = keys.derived(for: "gatehouse identity known networks")
    }

    /// Records that the user has signed in from the network, at most once a day.
    /// - Parameter network: ``ClientNetwork/site(of:)``.
    func remember(network: String, of userID: UUID) async throws {
        let digest = Self.digest(network, of: userID, networkKeys.current.secret)
        let written = try await database.query(
            """
            INSERT INTO known_networks (user_id, digest)
            SELECT \(userID), \(digest) WHERE NOT EXISTS (
                SELECT FROM known_networks
                WHERE user_id = \(userID) AND digest = \(digest) AND last_used_at > now() - interval '1 day')
            ON CONFLICT (user_id, digest) DO UPDATE SET last_used_at = now()
            """)
        guard written.affectedRows == 1 else { return }
        try await database.query(
            """
            DELETE FROM known_networks WHERE id IN (
                SELECT id FROM known_networks WHERE user_id = \(userID)
                ORDER BY last_used_at DESC, id DESC OFFSET \(Self.maximum))
            """)
    }

    /// The network, if the user who has the identifier has signed in from there.
    func network(_ network: String, of identifier: Identifier) async throws -> KnownOrigin? {
        let rows = try await database.query(
            """
            SELECT n.user_id, n.digest, i.verified FROM identifiers i JOIN known_networks n ON n.user_id = i.user_id
            WHERE i.kind = \(identifier.kind.rawValue) AND i.value = \(identifier.value)
                AND n.last_used_at > now() - make_interval(secs => \(Double(Self.networkLifetime * 86_400)))
            """
        ).decode((UUID, String, Bool).self)
        return rows.first { userID, digest, _ in
            networkKeys.all.contains { Self.digest(network, of: userID, $0) == digest }
        }.map { KnownOrigin(parts: [$0.0.uuidString, network], isVerified: $0.2) }
    }

    /// Records that the user has signed in on the device, at most once a day. The device is forgotten instead where the
    /// credentials have changed since the sign-in, because an attacker may have used the former password.
    /// - Parameter account: as it was when the user was verified.
    func remember(_ installationID: String?, of account: Account) async throws {
        guard let installationID, installationID.utf8.count >= Self.minimumLength else { return }
        let (userID, digest) = (account.id, Self.digest(installationID, keys.current.secret))
        // The lock waits for a change in progress; the version is read again after it.
        let written = try await database.query(
            """
            INSERT INTO known_devices (user_id, digest)
            SELECT u.id, \(digest) FROM users u
            WHERE u.id = \(userID) AND u.credentials_version = \(account.credentialsVersion) AND NOT EXISTS (
                SELECT FROM known_devices
                WHERE user_id = \(userID) AND digest = \(digest) AND last_used_at > now() - interval '1 day')
            FOR KEY SHARE OF u
            ON CONFLICT (user_id, digest) DO UPDATE SET last_used_at = now()
            """)
        guard written.affectedRows == 1 else { return }
        try await database.query(
            """
            DELETE FROM known_devices WHERE id IN (
                SELECT id FROM known_devices WHERE user_id = \(userID)
                ORDER BY last_used_at DESC, id DESC OFFSET \(Self.maximum))
            """)
    }

    /// Forgets the devices and networks of a user whose row is locked, and revokes the device tokens.
    package static func forget(devicesOf userID: UUID, on transaction: PostgresTransaction) async throws {
        try await transaction.query("DELETE FROM known_devices WHERE user_id = \(userID)")
        try await transaction.query("DELETE FROM known_networks WHERE user_id = \(userID)")
        try await transaction.query("UPDATE users SET devices_since = now() WHERE id = \(userID)")
    }

    /// Moves the devices to the account that the user's is merged into. Networks stay behind: their digests name the
    /// user.
    package static func move(from: UUID, to into: UUID, on transaction: PostgresTransaction) async throws {
        try await transaction.query(
            """
            UPDATE known_devices d SET user_id = \(into) WHERE d.user_id = \(from)
                AND NOT EXISTS (SELECT FROM known_devices o WHERE o.user_id = \(into) AND o.digest = d.digest)
            """)
    }

    /// The device, if the user who has the identifier has signed in on it.
    func device(_ installationID: String?, of identifier: Identifier) async throws -> KnownOrigin? {
        guard let installationID, installationID.utf8.count >= Self.minimumLength else { return nil }
        let digests = keys.all.map { Self.digest(installationID, $0) }
        return try await database.query(
            """
            SELECT d.id, d.user_id, i.verified FROM identifiers i JOIN known_devices d ON d.user_id = i.user_id
            WHERE i.kind = \(identifier.kind.rawValue) AND i.value = \(identifier.value) AND d.digest = ANY(\(digests))
            ORDER BY d.id LIMIT 1
            """
        ).first.map { row in
            let (id, userID, isVerified) = try row.decode((Int64, UUID, Bool).self)
            return KnownOrigin(parts: [userID.uuidString, "\(id)"], isVerified: isVerified)
        }
    }

    /// The token's device, if the token belongs to the user who has the identifier, and was issued after the last new
    /// password and the last undo. An attacker who had the former credentials may hold many tokens. The clocks may
    /// differ by half a minute.
    func device(_ token: KnownDeviceToken, of identifier: Identifier) async throws -> KnownOrigin? {
        try await database.query(
            """
            SELECT i.verified FROM identifiers i JOIN users u ON u.id = i.user_id
            WHERE i.kind = \(identifier.kind.rawValue) AND i.value = \(identifier.value) AND i.user_id = \(token.userID)
                AND coalesce(floor(extract(epoch FROM u.devices_since - interval '30 seconds')), 0)
                    <= \(token.issuedAt)::bigint
            """
        ).decode(Bool.self).first.map {
            KnownOrigin(parts: [token.userID.uuidString, token.deviceID.uuidString], isVerified: $0)
        }
    }

    /// When each of the user's devices was last used. Nothing else is known of a device.
    package func devices(of userID: UUID) async throws -> [AccountExport.KnownDevice] {
        try await database.query(
            "SELECT last_used_at FROM known_devices WHERE user_id = \(userID) ORDER BY last_used_at DESC"
        ).decode(Date.self).map(AccountExport.KnownDevice.init)
    }

    /// When the user last signed in from each network. Nothing else is known of a network.
    package func networks(of userID: UUID) async throws -> [AccountExport.KnownDevice] {
        try await database.query(
            "SELECT last_used_at FROM known_networks WHERE user_id = \(userID) ORDER BY last_used_at DESC"
        ).decode(Date.self).map(AccountExport.KnownDevice.init)
    }

    /// The digest includes the user, so the table does not show which users share a network.
    private static func digest(_ network: String, of userID: UUID, _ key: SymmetricKey) -> String {
        digest("\(userID.uuidString)\0\(network)", key)
    }

    private static func digest(_ installationID: String, _ key: SymmetricKey) -> String {
        Base64URL.string(HMAC<SHA256>.authenticationCode(for: Data(installationID.utf8), using: key))
    }
}

/// A device or network on which the user who has an identifier has signed in before.
package struct KnownOrigin: Sendable {
    /// The key of the device or network, in parts, beginning with the user's id.
    var parts: [String]
    /// Whether the user has verified the identifier. An attacker may have registered another person's identifier.
    var isVerified: Bool
}

/// Recognizes the devices and networks on which a user has signed in before.
package protocol DeviceRecognition: Sendable {
    /// - Returns: `nil` where the user who has the identifier has not signed in on the device.
    func knownDevice(_ device: SessionDevice?, of identifier: Identifier) async throws -> KnownOrigin?

    /// - Parameter network: ``ClientNetwork/site(of:)``.
    /// - Returns: `nil` where the user who has the identifier has not signed in from there.
    func knownNetwork(_ network: String, of identifier: Identifier) async throws -> KnownOrigin?
}

/// Recognizes a device by its device token or, for apps without one, by the `installationId` that the app has chosen.
package struct KnownDevices: DeviceRecognition {
    let tokens: KnownDeviceTokens
    let store: KnownDeviceStore

    package func knownDevice(_ device: SessionDevice?, of identifier: Identifier) async throws -> KnownOrigin? {
        if let token = tokens.read(device?.deviceToken),
            let known = try await store.device(token, of: identifier)
        {
            return known
        }
        return try await store.device(device?.installationId, of: identifier)
    }

    package func knownNetwork(_ network: String, of identifier: Identifier) async throws -> KnownOrigin? {
        try await store.network(network, of: identifier)
    }
}

/// Issues device tokens and reads them.
package struct KnownDeviceTokens: Sendable {
    private let keys: KeyRing

    /// - Parameter keys: the keys of the passwords' pepper. Tokens that were signed under a key that is removed from
    ///   its file become invalid.
    init(keys: KeyRing) {
        self.keys = keys.derived(for: "gatehouse identity device tokens")
    }

    /// Issues a token for a user who has signed in on the device.
    /// - Parameter former: the token that the device presented. If it was this user's, the new token names the same
    ///   device.
    func issue(to userID: UUID, renewing former: String?) -> String {
        let known = read(former).flatMap { $0.userID == userID ? $0.deviceID : nil }
        return KnownDeviceToken(deviceID: known ?? UUID(), userID: userID, issuedAt: Self.now).signed(
            with: keys.current.secret)
    }

    func read(_ text: String?) -> KnownDeviceToken? {
        text.flatMap { KnownDeviceToken($0, keys: keys.all, now: Self.now) }
    }

    private static var now: Int64 { Int64(Date.now.timeIntervalSince1970) }
}

extension KnownDeviceStore {
    package static let expiredRows = [
        ExpiredRows(
            table: "known_devices", key: "id",
            condition: "last_used_at < now() - make_interval(days => \(lifetime))"),
        ExpiredRows(
            table: "known_networks", key: "id",
            condition: "last_used_at < now() - make_interval(days => \(networkLifetime))"),
    ]
}
