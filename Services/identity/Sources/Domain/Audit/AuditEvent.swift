/// What happened to an account.
enum AuditEvent: String, Sendable, CaseIterable {
    case registered
    case signedIn = "signed_in"
    /// Wrong passwords, codes and Apple tokens, merges that were refused, and attempts to sign in to a disabled account.
    /// One entry counts those of some minutes.
    case signInRefused = "sign_in_refused"
    case profileChanged = "profile_changed"
    /// An identifier became the user's, or was proved.
    case identifierChanged = "identifier_changed"
    case identifierLost = "identifier_lost"
    /// By the user or an operator.
    case identifierRemoved = "identifier_removed"
    /// A change was undone by whoever reads at the former one.
    case identifierRestored = "identifier_restored"
    case identifierVerified = "identifier_verified"
    case messageRefused = "message_refused"
    /// A message that was sent has come back.
    case messageBounced = "message_bounced"
    case passwordChanged = "password_changed"
    case passwordReset = "password_reset"
    case passwordRemoved = "password_removed"
    /// Somebody who was signed in has proved again who they are.
    case reauthenticated
    case appleLinked = "apple_linked"
    case appleUnlinked = "apple_unlinked"
    case appleConsentRevoked = "apple_consent_revoked"
    case appleTransferred = "apple_transferred"
    case roleChanged = "role_changed"
    case disabled
    case enabled
    /// The account has become part of another one of the same person, which the entry names.
    case merged
    /// Another account has become part of this one.
    case absorbed
    case deleted
    /// An operator has ended one session, or all of them.
    case sessionEnded = "session_ended"
    case sessionsEnded = "sessions_ended"
    /// A session has ended, for the reason that tokens has told.
    case sessionRevoked = "session_revoked"
    /// An operator has read what is kept of the user, or has looked for users.
    case viewed
}
