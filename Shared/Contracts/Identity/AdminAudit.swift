public import Foundation

/// An entry of the audit log as operators see it.
public struct AdminAuditEntry: Codable, Sendable, Equatable {
    /// Who did it.
    public struct Actor: Codable, Sendable, Equatable {
        /// `user`, `operator`, `apple`, `system`, or `unknown` for somebody who did not prove who they are.
        public var kind: String
        /// The user who it was.
        public var id: String?
        /// Where it was no user of ours: the name of an operator on the machine, or of another system.
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
    /// Whom it happened to; absent where it concerns nobody in particular.
    public var user: String?
    public var by: Actor
    /// Where whoever did it was, as long as that is kept.
    public var address: String?
    /// With which client, as it called itself.
    public var client: String?
    public var device: String?
    public var appVersion: String?
    public var session: String?
    /// What about it: the new role, the kind of an identifier, why a sign-in was refused, what was read.
    public var detail: String?
    /// How often it happened; absent for once.
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
    /// Opaque; what to send as `after` for the next page. Absent with the last.
    public var next: String?

    public init(entries: [AdminAuditEntry], next: String? = nil) {
        self.entries = entries
        self.next = next
    }
}
