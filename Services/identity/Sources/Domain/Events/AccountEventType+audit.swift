import Contracts

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
