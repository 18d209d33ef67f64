public import Foundation

/// An event in a user's account, for other systems. It identifies the user and the event, and contains nothing else
/// about the person.
public struct AccountEvent: Codable, Sendable, Equatable {
    /// Identifies the event. A repeated delivery has the same id.
    public var id: String
    public var type: AccountEventType
    public var occurredAt: Date
    @LowercaseUUID public var userID: UUID
    /// The session that began or ended; absent in other events.
    public var sessionID: String?
    /// For `session.revoked`: why the session ended.
    public var reason: RevocationReason?
    /// For `user.merged`: the user into which this user was merged. `user.deleted` follows.
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
    /// The name, the role, the stores, or the ways to sign in have changed.
    public static let userUpdated = Self(rawValue: "user.updated")
    /// The user was merged into another user, who is the same person. Data under the merged user's id now belongs to
    /// the other id.
    public static let userMerged = Self(rawValue: "user.merged")
    public static let userDeleted = Self(rawValue: "user.deleted")
    public static let userDisabled = Self(rawValue: "user.disabled")
    public static let userEnabled = Self(rawValue: "user.enabled")
    public static let sessionCreated = Self(rawValue: "session.created")
    /// A session has ended, for any reason.
    public static let sessionRevoked = Self(rawValue: "session.revoked")
    /// The password was changed, set or reset.
    public static let passwordChanged = Self(rawValue: "password.changed")
    /// An e-mail address or phone number was added, verified or lost.
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

/// The answer to `GET /internal/events`, and the body of a webhook request.
public struct AccountEventPage: Codable, Sendable, Equatable {
    public var events: [AccountEvent]
    /// Opaque. The client sends it as `after` in the next request.
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
