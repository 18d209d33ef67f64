import Contracts
import Foundation

extension AccountEventType {
    /// The event that other systems see for an entry of the audit log; `nil` where the entry is internal or from a
    /// newer version.
    init?(auditing event: String) {
        switch AuditEvent(rawValue: event) {
        case .registered: self = .userCreated
        case .profileChanged, .roleChanged, .appleLinked, .appleUnlinked, .appleTransferred, .passwordRemoved,
            .absorbed:
            self = .userUpdated
        case .merged: self = .userMerged
        case .deleted: self = .userDeleted
        case .disabled: self = .userDisabled
        case .enabled: self = .userEnabled
        case .signedIn: self = .sessionCreated
        case .sessionRevoked: self = .sessionRevoked
        case .passwordChanged, .passwordReset: self = .passwordChanged
        case .identifierChanged, .identifierVerified, .identifierLost, .identifierRemoved, .identifierRestored:
            self = .identifierChanged
        case .signInRefused, .reauthenticated, .messageRefused, .messageBounced, .appleConsentRevoked, .sessionEnded,
            .sessionsEnded, .testPushSent, .viewed, nil:
            return nil
        }
    }
}

/// The endpoint that receives events, and the secret that authenticates Gatehouse to it.
struct Webhook: Sendable {
    var url: URL
    var secret: String

    /// In bytes.
    static let minimumSecretLength = 16

    /// The address without parts that may be secret, for metrics and logs.
    var name: String {
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: false)
        parts?.query = nil
        parts?.user = nil
        parts?.password = nil
        return parts?.string ?? ""
    }
}

/// How a webhook resumes when its cursor is no longer valid, for example after a restore. The
/// feed is read from its beginning, and events that were delivered long before are left out.
struct WebhookCatchUp: Sendable {
    /// When the newest delivered event happened; `nil` where no event is left out.
    var through: Date?
    /// Days for which events are kept; `nil` for ever.
    var retention: Int?

    /// Seconds. Longer than a transaction lasts, so that an event that was committed late is not left out.
    static let overlap: TimeInterval = 3600

    func isWanted(_ happenedAt: Date) -> Bool {
        through.map { happenedAt >= $0.addingTimeInterval(-Self.overlap) } ?? true
    }

    /// Whether undelivered events may have been removed, because they were older than the retention.
    func isGap(now: Date) -> Bool {
        guard let through, let retention else { return false }
        return through < now.addingTimeInterval(-Double(retention) * 86_400 + Self.overlap)
    }
}
