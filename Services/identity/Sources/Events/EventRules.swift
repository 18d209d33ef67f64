import Contracts
import Foundation

extension AccountEventType {
    /// What others are told of an entry of the audit log; `nil` where it is none of their business, or of a newer version.
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
            .sessionsEnded, .viewed, nil:
            return nil
        }
    }
}

/// Where events are posted to, and the secret by which the receiver knows that they are Gatehouse's.
struct Webhook: Sendable {
    var url: URL
    var secret: String

    /// In bytes.
    static let minimumSecretLength = 16

    /// The address without what may be a secret in it: for metrics and logs.
    var name: String {
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: false)
        parts?.query = nil
        parts?.user = nil
        parts?.password = nil
        return parts?.string ?? ""
    }
}

/// What a webhook is sent when its cursor no longer means anything, as after a crash of PostgreSQL or a fail-over: the
/// feed is read from its beginning, and what was delivered long before is left out.
struct WebhookCatchUp: Sendable {
    /// When the newest event happened that was delivered; `nil` where everything is wanted.
    var through: Date?
    /// Days for which events are kept; `nil` for ever.
    var retention: Int?

    /// Seconds: longer than a transaction lasts, so that an event that was committed late is not left out.
    static let overlap: TimeInterval = 3600

    func isWanted(_ happenedAt: Date) -> Bool {
        through.map { happenedAt >= $0.addingTimeInterval(-Self.overlap) } ?? true
    }

    /// Whether events may be missing that were never delivered, since they are too old to be kept.
    func isGap(now: Date) -> Bool {
        guard let through, let retention else { return false }
        return through < now.addingTimeInterval(-Double(retention) * 86_400 + Self.overlap)
    }
}
