import CGatehouseOpenSSL
public import Foundation

/// One of 4,096 groups of users. Rows of one user are in the same bucket of every table, so that a database can be
/// partitioned by bucket, or distributed over several servers.
public struct Bucket: RawRepresentable, Hashable, Sendable {
    /// The number of buckets.
    public static let count: Int16 = 4096

    /// From 0 to 4095.
    public let rawValue: Int16

    /// `nil` for a number outside 0 to 4095.
    public init?(rawValue: Int16) {
        guard (0..<Self.count).contains(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    /// The bucket of a user: the first 12 bits of the SHA-256 of the id's 16 bytes.
    public init(user: UUID) {
        let hash = withUnsafeBytes(of: user.uuid) { id in
            var hash = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
            _ = SHA256(id.bindMemory(to: UInt8.self).baseAddress, id.count, &hash)
            return hash
        }
        self.init(hash[0], hash[1])
    }

    /// The bucket of a session's user: the first 12 bits of the session id (``Foundation/UUID/session(of:)``).
    public init(session: UUID) {
        self.init(session.uuid.0, session.uuid.1)
    }

    private init(_ first: UInt8, _ second: UInt8) {
        rawValue = Int16(first) << 4 | Int16(second >> 4)
    }
}

extension UUID {
    /// A new session id: 12 bits of the user's ``Bucket``, then random bits. A UUID of version 8 (RFC 9562 §5.8).
    public static func session(of user: UUID) -> UUID {
        let bucket = UInt16(Bucket(user: user).rawValue)
        var id = UUID().uuid
        id.0 = UInt8(bucket >> 4)
        id.1 = UInt8(bucket & 0xF) << 4 | id.1 & 0xF
        id.6 = 0x80 | id.6 & 0xF
        return UUID(uuid: id)
    }
}
