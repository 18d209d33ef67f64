// Pure: no I/O, no clock.

public import Foundation
public import GatehouseAccessTokens

/// The RSA keys of the service. One key signs; the others are only published.
///
/// A key is published before it signs, and stays published until its tokens have expired. So replicas and gateways that
/// notice a change late still accept every valid token.
public struct SigningKeys: Sendable {
    /// The use of a key.
    public enum State: String, Sendable, CaseIterable {
        /// Signs.
        case active
        /// Published; signs after the next rotation.
        case next
        /// Published; no longer signs.
        case retiring
    }

    /// A key with its state.
    public struct Entry: Sendable {
        public let key: RSAPrivateKey
        public internal(set) var state: State
        /// When the key entered its state; `nil` for a key of a plain PEM file.
        public internal(set) var since: Date?
        /// The lifetime of its last tokens in seconds, if recorded.
        public internal(set) var lifetime: Int?

        /// The `kid` of its tokens: the key's thumbprint (RFC 7638).
        public var keyID: String { key.publicKey.thumbprint }
    }

    /// Seconds for which a key is published before it signs: twice as long as readers may cache the JWKS.
    public static let publicationTime: TimeInterval = 600
    /// Seconds within which every replica has noticed a change of the keys.
    public static let noticeTime: TimeInterval = 60
    /// The minimum of both, in seconds: a replica checks the file once a second, and the file's times are whole
    /// seconds.
    public static let shortestNotice: TimeInterval = 3

    /// The active key first, then the others in the order of the file.
    public private(set) var entries: [Entry]

    /// Whether the keys were made for development, which production refuses.
    public let isForDevelopment: Bool

    /// A set of one key, which signs.
    public init(first key: RSAPrivateKey, since: Date? = nil, isForDevelopment: Bool) {
        entries = [Entry(key: key, state: .active, since: since)]
        self.isForDevelopment = isForDevelopment
    }

    init(entries: [Entry], isForDevelopment: Bool) throws(SigningKeysError) {
        guard entries.count(where: { $0.state == .active }) == 1 else {
            throw SigningKeysError("exactly one key must be active")
        }
        guard entries.count(where: { $0.state == .next }) <= 1 else {
            throw SigningKeysError("no more than one key may be next")
        }
        guard Set(entries.map(\.keyID)).count == entries.count else {
            throw SigningKeysError("the same key is listed twice")
        }
        self.entries = entries.filter { $0.state == .active } + entries.filter { $0.state != .active }
        self.isForDevelopment = isForDevelopment
    }

    /// The key that signs.
    public var active: RSAPrivateKey { entries[0].key }

    /// All keys, as they are published.
    public var published: [RSAPublicKey] { entries.map(\.key.publicKey) }

    // MARK: - Changes

    /// Publishes a key that the next rotation makes active.
    ///
    /// - Throws: when a next key already exists.
    public mutating func add(next key: RSAPrivateKey, at now: Date) throws(SigningKeysError) {
        guard !entries.contains(where: { $0.state == .next }) else {
            throw SigningKeysError("there is a next key already: rotate first")
        }
        self = try SigningKeys(
            entries: entries + [Entry(key: key, state: .next, since: now)], isForDevelopment: isForDevelopment)
    }

    /// Makes the next key the active one, and the active one retiring.
    ///
    /// - Parameters:
    ///   - accessTokenLifetime: seconds; recorded with the retiring key, in case the setting is shorter when that key
    ///     is removed.
    ///   - publicationTime: seconds for which the next key must have been published.
    ///   - force: rotates even if the next key was published too recently. Verifiers that do not fetch the JWKS again
    ///     for an unknown key then refuse valid tokens for some minutes.
    /// - Throws: when no next key exists, or it is too new.
    public mutating func rotate(
        at now: Date, accessTokenLifetime: Int? = nil, publicationTime: TimeInterval = Self.publicationTime,
        force: Bool = false
    ) throws(SigningKeysError) {
        guard let next = entries.firstIndex(where: { $0.state == .next }) else {
            throw SigningKeysError("there is no next key: generate one first")
        }
        let missing = (entries[next].since ?? .distantPast) + publicationTime - now
        guard force || missing <= 0 else {
            throw SigningKeysError("the next key has to be published for \(Int(missing.rounded(.up))) s more")
        }
        var changed = entries
        changed[0].state = .retiring
        changed[0].since = now
        changed[0].lifetime = accessTokenLifetime
        changed[next].state = .active
        changed[next].since = now
        self = try SigningKeys(entries: changed, isForDevelopment: isForDevelopment)
    }

    /// Removes the retiring keys whose tokens have all expired.
    ///
    /// - Parameters:
    ///   - accessTokenLifetime: seconds. If a longer lifetime was recorded with a key, that one applies to the key.
    ///   - noticeTime: seconds for which a replica may have continued to sign with a retiring key.
    /// - Returns: the removed keys.
    public mutating func retire(
        at now: Date, accessTokenLifetime: Int, noticeTime: TimeInterval = Self.noticeTime
    ) -> [Entry] {
        let isGone = { (entry: Entry) in
            let lifetime = TimeInterval(max(accessTokenLifetime, entry.lifetime ?? 0))
            return entry.state == .retiring && (entry.since ?? .distantPast) + lifetime + noticeTime <= now
        }
        defer { entries.removeAll(where: isGone) }
        return entries.filter(isGone)
    }
}

/// Why keys cannot be read or changed.
public struct SigningKeysError: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}

extension Date {
    fileprivate static func - (date: Date, other: Date) -> TimeInterval { date.timeIntervalSince(other) }
}
