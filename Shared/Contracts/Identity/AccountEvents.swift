public import Foundation

/// What happened to a user, for other systems: which user and what, and nothing about the person.
public struct AccountEvent: Codable, Sendable, Equatable {
    /// The same if the event is delivered twice.
    public var id: String
    public var type: AccountEventType
    public var occurredAt: Date
    @LowercaseUUID public var userID: UUID
    /// The session that began or ended; absent in other events.
    public var sessionID: String?
    /// Of `session.revoked`: why the session ended.
    public var reason: RevocationReason?
    /// Of `user.merged`: the user that this one has become part of. `user.deleted` follows.
    public var intoUserID: String?

    public init(
        id: String, type: AccountEventType, occurredAt: Date, userID: UUID, sessionID: String? = nil,
        reason: RevocationReason? = nil, intoUserID: String? = nil
    ) {
        self.id = id
        self.type = type
        self.occurredAt = occurredAt
        self.userID = userID
        self.sessionID = sessionID
        self.reason = reason
        self.intoUserID = intoUserID
    }
}

/// The kind of an ``AccountEvent``.
public struct AccountEventType: OpenValue {
    public static let userCreated = Self(rawValue: "user.created")
    /// The name, the role, the stores, or the ways to sign in.
    public static let userUpdated = Self(rawValue: "user.updated")
    /// The user was merged into another one, who is the same person. Data under the one id belongs under the other from
    /// now on.
    public static let userMerged = Self(rawValue: "user.merged")
    public static let userDeleted = Self(rawValue: "user.deleted")
    public static let userDisabled = Self(rawValue: "user.disabled")
    public static let userEnabled = Self(rawValue: "user.enabled")
    public static let sessionCreated = Self(rawValue: "session.created")
    /// A session has ended, for whatever reason.
    public static let sessionRevoked = Self(rawValue: "session.revoked")
    /// It was changed, set or reset.
    public static let passwordChanged = Self(rawValue: "password.changed")
    /// An e-mail address or phone number was added, proved or lost.
    public static let identifierChanged = Self(rawValue: "identifier.changed")

    public static let known: [Self] = [
        .userCreated, .userUpdated, .userMerged, .userDeleted, .userDisabled, .userEnabled, .sessionCreated,
        .sessionRevoked, .passwordChanged, .identifierChanged,
    ]

    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// The answer to `GET /internal/events`, and what a webhook is sent.
public struct AccountEventPage: Codable, Sendable, Equatable {
    public var events: [AccountEvent]
    /// Opaque; what to send as `after` next.
    public var cursor: String
    /// The sent cursor is older than the retained events: fetch all data again and continue from `cursor`.
    public var reset: Bool
    /// More events are available: request the next page at once.
    public var more: Bool

    public init(events: [AccountEvent], cursor: String, reset: Bool, more: Bool) {
        self.events = events
        self.cursor = cursor
        self.reset = reset
        self.more = more
    }
}
