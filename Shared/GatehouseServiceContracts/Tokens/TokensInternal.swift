public import Foundation
import GatehouseBytes

/// The user data that tokens stores, so that a refresh depends on no other service.
public struct UserSnapshot: Codable, Sendable, Equatable {
    public var user: User
    /// Grows with every change of the user; tokens keeps the highest it has seen.
    public var version: Int64

    public init(user: User, version: Int64) {
        self.user = user
        self.version = version
    }
}

/// `POST /internal/sessions`: identity has authenticated a user and requests a session. The answer is an
/// ``AuthResponse``.
public struct CreateSessionRequest: Codable, Sendable {
    /// Chosen by the caller, new for each request. With it the caller can revoke the session
    /// (`DELETE /internal/sessions/{id}`), even if the answer was lost.
    @LowercaseUUID public var sessionID: UUID
    public var snapshot: UserSnapshot
    /// The version of the credentials that were verified. When the credentials change, the sessions below the new
    /// version are revoked.
    public var credentialsVersion: Int64
    /// Seconds since the sign-in began. If the user has signed out everywhere since then, tokens creates no session.
    public var signInAge: Double
    public var device: SessionDevice?
    public var ipAddress: String?
    /// How the user authenticated. The time of the authentication is the time of the session's creation.
    public var authenticationMethods: [AuthenticationMethod]?

    public init(
        sessionID: UUID, snapshot: UserSnapshot, credentialsVersion: Int64, signInAge: Double,
        device: SessionDevice? = nil, ipAddress: String? = nil, authenticationMethods: [AuthenticationMethod]? = nil
    ) {
        self.sessionID = sessionID
        self.snapshot = snapshot
        self.credentialsVersion = credentialsVersion
        self.signInAge = signInAge
        self.device = device
        self.ipAddress = ipAddress
        self.authenticationMethods = authenticationMethods
    }
}

/// `PUT /internal/sessions/{id}/authentication`: the user of a live session has authenticated again. The time of the
/// authentication is now.
public struct RenewAuthenticationRequest: Codable, Sendable {
    /// The user who must own the session.
    @LowercaseUUID public var userID: UUID
    /// How the user authenticated.
    public var methods: [AuthenticationMethod]

    public init(userID: UUID, methods: [AuthenticationMethod]) {
        self.userID = userID
        self.methods = methods
    }
}

/// `POST /internal/users/{id}/revoke`: ends the user's sessions.
public struct RevokeSessionsRequest: Codable, Sendable {
    /// A session that is not ended.
    public var exceptSession: UUID?
    /// Spares the sessions whose sign-in was verified against these credentials or newer ones. So a late revocation
    /// does not end sessions that were created after its cause. Without it, the version spares no session.
    public var belowCredentialsVersion: Int64?
    public var reason: RevocationReason

    public init(exceptSession: UUID? = nil, belowCredentialsVersion: Int64? = nil, reason: RevocationReason) {
        self.exceptSession = exceptSession
        self.belowCredentialsVersion = belowCredentialsVersion
        self.reason = reason
    }
}

/// The answer to `GET /internal/revocations?form=access`: what a verifier of access tokens needs, in few bytes, so that
/// a new gateway soon knows a hundred thousand sessions.
public struct AccessRevocationPage: Codable, Sendable, Equatable {
    /// A session that was revoked.
    public struct Entry: Sendable, Equatable {
        public var sessionID: UUID
        /// No access token of the session lives longer than this; in seconds since 1970.
        public var accessExpiresAt: Int64
        /// Seconds since the revocation when the page was created.
        public var age: Double

        public init(sessionID: UUID, accessExpiresAt: Int64, age: Double) {
            self.sessionID = sessionID
            self.accessExpiresAt = accessExpiresAt
            self.age = age
        }
    }

    /// Base64 of 28 bytes for each session: its id; the last expiry of its access tokens, in seconds since 1970, in 8
    /// bytes; its age in milliseconds, in 4 bytes. Numbers are big-endian.
    private var sessions: String
    /// As in ``RevocationPage``.
    public var cursor: String
    public var reset: Bool
    public var more: Bool

    public init(entries: [Entry], cursor: String, reset: Bool, more: Bool) {
        var bytes = Data(capacity: entries.count * Self.size)
        for entry in entries {
            withUnsafeBytes(of: entry.sessionID.uuid) { bytes.append(contentsOf: $0) }
            withUnsafeBytes(of: entry.accessExpiresAt.bigEndian) { bytes.append(contentsOf: $0) }
            let milliseconds = UInt32(min(max(0, entry.age * 1000), Double(UInt32.max)))
            withUnsafeBytes(of: milliseconds.bigEndian) { bytes.append(contentsOf: $0) }
        }
        sessions = bytes.base64EncodedString()
        self.cursor = cursor
        self.reset = reset
        self.more = more
    }

    private static let size = 28

    /// The sessions; `nil` when they are in another form, or an expiry is not of the years 1970 to 9999.
    public var entries: [Entry]? {
        guard let bytes = Data(base64Encoded: sessions), bytes.count.isMultiple(of: Self.size) else { return nil }
        let entries = bytes.withUnsafeBytes { bytes in
            stride(from: 0, to: bytes.count, by: Self.size).map { start in
                Entry(
                    sessionID: UUID(uuid: bytes.loadUnaligned(fromByteOffset: start, as: uuid_t.self)),
                    accessExpiresAt: Int64(bigEndian: bytes.loadUnaligned(fromByteOffset: start + 16, as: Int64.self)),
                    age: Double(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: start + 24, as: UInt32.self)))
                        / 1000)
            }
        }
        return entries.allSatisfy { UTCTime.accepted.contains($0.accessExpiresAt) } ? entries : nil
    }
}

/// `POST /internal/sessions/live`, as request and answer: the sessions in question, and those of them that are live.
public struct LiveSessions: Codable, Sendable, Equatable {
    /// The most sessions in a request.
    public static let most = 1000

    private var sessionIDs: [LowercaseUUID]
    /// In an answer: when each session ends unless it is used before. Absent from older versions of tokens.
    public private(set) var expiresAt: [Date]?

    public var ids: [UUID] { sessionIDs.map(\.wrappedValue) }

    public init(_ ids: [UUID]) {
        sessionIDs = ids.map(LowercaseUUID.init(wrappedValue:))
    }

    public init(_ sessions: [(id: UUID, expiresAt: Date)]) {
        self.init(sessions.map(\.id))
        expiresAt = sessions.map(\.expiresAt)
    }

    /// The sessions with the times of `expiresAt`; `nil` where the answer has none.
    public var expirations: [UUID: Date]? {
        guard let expiresAt, expiresAt.count == sessionIDs.count else { return nil }
        return Dictionary(zip(ids, expiresAt)) { max($0, $1) }
    }
}

/// Why a session ended.
public struct RevocationReason: OpenValue {
    public static let logout = Self(rawValue: "logout")
    public static let replay = Self(rawValue: "replay")
    public static let passwordChanged = Self(rawValue: "passwordChanged")
    public static let accountDisabled = Self(rawValue: "accountDisabled")
    public static let accountDeleted = Self(rawValue: "accountDeleted")
    public static let administrator = Self(rawValue: "administrator")
    /// Identity revoked the session of a sign-in that it did not answer with the session: the credentials changed, the
    /// response of tokens was lost, the nonce was spent, or a later step failed.
    public static let superseded = Self(rawValue: "superseded")
    /// The user's oldest idle session made room for a new one.
    public static let sessionLimit = Self(rawValue: "sessionLimit")
    /// The idle or absolute lifetime ended. The entry is added when the session's row is purged.
    public static let expired = Self(rawValue: "expired")

    public static let known: [Self] = [
        .logout, .replay, .passwordChanged, .accountDisabled, .accountDeleted, .administrator, .superseded,
        .sessionLimit, .expired,
    ]

    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// The answer to `GET /internal/revocations`
public struct RevocationPage: Codable, Sendable, Equatable {
    /// A session that was revoked.
    public struct Entry: Codable, Sendable, Equatable {
        @LowercaseUUID public var sessionID: UUID
        @LowercaseUUID public var userID: UUID
        public var revokedAt: Date
        /// Seconds since the revocation when the page was created, both by the database's clock; `nil` from an older
        /// version of tokens.
        public var age: Double?
        /// No access token of the session lives longer than this.
        public var accessExpiresAt: Date
        public var reason: RevocationReason

        public init(
            sessionID: UUID, userID: UUID, revokedAt: Date, age: Double? = nil, accessExpiresAt: Date,
            reason: RevocationReason
        ) {
            self.sessionID = sessionID
            self.userID = userID
            self.revokedAt = revokedAt
            self.age = age
            self.accessExpiresAt = accessExpiresAt
            self.reason = reason
        }
    }

    /// The value of `after` for a reader that needs no earlier entries.
    public static let latest = "latest"

    public var entries: [Entry]
    /// Opaque. The client sends it as `after` in the next request.
    public var cursor: String
    /// The sent cursor is older than the retained entries, or of another history: entries may have been missed.
    /// Continue from `cursor`, which repeats those that are retained.
    public var reset: Bool
    /// More entries are available: request the next page at once.
    public var more: Bool

    public init(entries: [Entry], cursor: String, reset: Bool, more: Bool) {
        self.entries = entries
        self.cursor = cursor
        self.reset = reset
        self.more = more
    }
}
