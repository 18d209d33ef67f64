public import Foundation

/// A user as operators see one.
public struct AdminUser: Codable, Sendable, Equatable {
    /// An address or number with which the user signs in.
    public struct Identifier: Codable, Sendable, Equatable {
        /// `email` or `phone`.
        public var kind: String
        /// The form that is stored, compared and sent: E.164, or an address whose domain is in ASCII.
        public var value: String
        public var verified: Bool
        /// The address with its domain in Unicode; absent if that is `value`.
        public var unicode: String?

        public init(kind: String, value: String, verified: Bool, unicode: String? = nil) {
            self.kind = kind
            self.value = value
            self.verified = verified
            self.unicode = unicode
        }
    }

    @LowercaseUUID public var id: UUID
    public var email: String?
    /// E.164.
    public var phone: String?
    public var displayName: String?
    public var emailVerified: Bool
    /// Absent if the user has no phone number.
    public var phoneVerified: Bool?
    public var role: String
    public var storeIds: [String]
    public var authProviders: [AuthProvider]
    public var createdAt: Date
    public var updatedAt: Date?
    /// `active` or `disabled`.
    public var state: String
    /// `email` above may differ: it may be the address that Apple gave, with which the user does not sign in here.
    public var identifiers: [Identifier]
    /// The last sign-in that the audit log contains.
    public var lastSignInAt: Date?
    /// Changes of the user that tokens has not received yet; absent without any. `revoke_sessions` means that the
    /// user's sessions have not ended yet.
    public var pending: [String]?

    public init(
        user: User, state: String, identifiers: [Identifier], lastSignInAt: Date? = nil, pending: [String]? = nil
    ) {
        id = user.id
        email = user.email
        phone = user.phone
        displayName = user.displayName
        emailVerified = user.emailVerified
        phoneVerified = user.phoneVerified
        role = user.role
        storeIds = user.storeIds
        authProviders = user.authProviders
        createdAt = user.createdAt
        updatedAt = user.updatedAt
        self.state = state
        self.identifiers = identifiers
        self.lastSignInAt = lastSignInAt
        self.pending = pending
    }
}

/// The answer to `GET /v1/admin/users`
public struct AdminUserList: Codable, Sendable, Equatable {
    public var users: [AdminUser]
    /// Opaque. The client sends it as `after` for the next page. Absent on the last page.
    public var next: String?

    public init(users: [AdminUser], next: String? = nil) {
        self.users = users
        self.next = next
    }
}

/// `POST /v1/admin/users`
public struct AdminCreateUserRequest: Codable, Sendable, Confidential {
    /// An e-mail address or a phone number in any usual spelling. The operator vouches for it, so it counts as
    /// verified.
    public var identifier: String
    /// A user without a password signs in with a code, or sets a password through a message.
    public var password: String?
    public var displayName: String?
    /// Default `user`.
    public var role: String?
    public var storeIds: [String]?

    public init(
        identifier: String, password: String? = nil, displayName: String? = nil, role: String? = nil,
        storeIds: [String]? = nil
    ) {
        self.identifier = identifier
        self.password = password
        self.displayName = displayName
        self.role = role
        self.storeIds = storeIds
    }
}

/// `PATCH /v1/admin/users/{id}`: absent members stay unchanged.
public struct AdminUpdateUserRequest: Codable, Sendable {
    /// An empty name removes the name.
    public var displayName: String?
    public var role: String?
    /// The complete list. It replaces the user's present stores.
    public var storeIds: [String]?

    public init(displayName: String? = nil, role: String? = nil, storeIds: [String]? = nil) {
        self.displayName = displayName
        self.role = role
        self.storeIds = storeIds
    }
}

/// `PUT /v1/admin/users/{id}/identifiers/{kind}`
public struct AdminIdentifierRequest: Codable, Sendable {
    /// An e-mail address or a phone number in any usual spelling. The operator vouches for it, so it counts as
    /// verified.
    public var identifier: String

    public init(identifier: String) {
        self.identifier = identifier
    }
}

/// `POST /v1/admin/users/{id}/identifiers/{kind}/move`
public struct AdminMoveIdentifierRequest: Codable, Sendable {
    /// The user who receives the identifier.
    @LowercaseUUID public var to: UUID

    public init(to: UUID) {
        self.to = to
    }
}

/// The answer to `GET /v1/admin/figures`
public struct AdminFigures: Codable, Sendable, Equatable {
    /// Counts of the recent past.
    public struct Lately: Codable, Sendable, Equatable {
        /// In the last hour, accurate to five minutes.
        public var hour: Int
        /// In the last 24 hours, accurate to five minutes.
        public var day: Int

        public init(hour: Int, day: Int) {
            self.hour = hour
            self.day = day
        }
    }

    /// Counts of one hour of the clock.
    public struct Hour: Codable, Sendable, Equatable {
        /// When the hour began.
        public var from: Date
        public var signIns: Int
        public var refusedSignIns: Int
        public var registrations: Int

        public init(from: Date, signIns: Int, refusedSignIns: Int, registrations: Int) {
            self.from = from
            self.signIns = signIns
            self.refusedSignIns = refusedSignIns
            self.registrations = registrations
        }
    }

    /// Exact up to 10,000, PostgreSQL's estimate above.
    public var users: Int
    public var disabledUsers: Int
    public var signIns: Lately
    public var refusedSignIns: Lately
    public var registrations: Lately
    /// Deletions that other services or Apple have not fully received yet.
    public var pendingDeletions: Int
    /// Disabled users and pending deletions are counted up to this bound. A count that reaches it may be too low.
    public var mostCounted: Int
    public var asOf: Date
    /// The last 24 hours of the clock, oldest first; the last one is not over. `nil` from an older version of the
    /// service.
    public var hours: [Hour]?

    public init(
        users: Int, disabledUsers: Int, signIns: Lately, refusedSignIns: Lately, registrations: Lately,
        pendingDeletions: Int, mostCounted: Int, asOf: Date, hours: [Hour]? = nil
    ) {
        self.users = users
        self.disabledUsers = disabledUsers
        self.signIns = signIns
        self.refusedSignIns = refusedSignIns
        self.registrations = registrations
        self.pendingDeletions = pendingDeletions
        self.mostCounted = mostCounted
        self.asOf = asOf
        self.hours = hours
    }
}

/// An entry of the audit log as operators see it.
public struct AdminAuditEntry: Codable, Sendable, Equatable {
    /// The party that acted.
    public struct Actor: Codable, Sendable, Equatable {
        /// `user`, `operator`, `apple`, `system`, or `unknown` for an unauthenticated client.
        public var kind: String
        /// The id of the user who acted.
        public var id: String?
        /// If the actor is not a user: the name of an operator on the machine, or of another system.
        public var name: String?

        public init(kind: String, id: String? = nil, name: String? = nil) {
            self.kind = kind
            self.id = id
            self.name = name
        }
    }

    public var id: String
    public var at: Date
    /// What happened.
    public var action: String
    /// The affected user; absent if the entry concerns no single user.
    public var user: String?
    public var by: Actor
    /// The address of the actor, for as long as it is stored.
    public var address: String?
    /// The name that the actor's client gives itself.
    public var client: String?
    public var device: String?
    public var appVersion: String?
    public var session: String?
    /// Details: the new role, the kind of an identifier, why a sign-in was refused, what was read.
    public var detail: String?
    /// How often it happened; absent if once.
    public var count: Int?

    public init(
        id: String, at: Date, action: String, user: String? = nil, by: Actor, address: String? = nil,
        client: String? = nil, device: String? = nil, appVersion: String? = nil, session: String? = nil,
        detail: String? = nil, count: Int? = nil
    ) {
        self.id = id
        self.at = at
        self.action = action
        self.user = user
        self.by = by
        self.address = address
        self.client = client
        self.device = device
        self.appVersion = appVersion
        self.session = session
        self.detail = detail
        self.count = count
    }
}

/// The answer to `GET /v1/admin/audit`
public struct AdminAuditList: Codable, Sendable, Equatable {
    /// The newest first.
    public var entries: [AdminAuditEntry]
    /// Opaque. The client sends it as `after` for the next page. Absent on the last page.
    public var next: String?

    public init(entries: [AdminAuditEntry], next: String? = nil) {
        self.entries = entries
        self.next = next
    }
}
