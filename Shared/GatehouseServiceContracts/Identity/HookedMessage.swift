public import Foundation

/// The request to `IDENTITY_MESSAGE_HOOK_URL` for each message to a user. It contains no text that a user wrote.
public struct HookedMessage: Codable, Sendable, Equatable, Confidential {
    /// The same at every attempt.
    @LowercaseUUID public var id: UUID
    /// `email` or `phone`.
    public var channel: String
    /// The recipient.
    public var to: String
    /// `signIn`, `verify`, `stepUp`, `merge`, `passwordReset`, `passwordChanged`, `identifierChanged`,
    /// `identifierLost`, `accountsMerged` or `appleLinked`. New values may be added.
    public var kind: String
    /// The language of `text` (ISO 639).
    public var language: String
    /// Only for a mail.
    public var subject: String?
    /// The complete text to send.
    public var text: String
    /// For a sender that composes its own texts.
    public var code: String?
    public var link: String?
    /// When the message expires.
    public var expiresAt: Date

    public init(
        id: UUID, channel: String, to: String, kind: String, language: String, subject: String? = nil, text: String,
        code: String? = nil, link: String? = nil, expiresAt: Date
    ) {
        self.id = id
        self.channel = channel
        self.to = to
        self.kind = kind
        self.language = language
        self.subject = subject
        self.text = text
        self.code = code
        self.link = link
        self.expiresAt = expiresAt
    }
}

/// `POST /internal/messages/bounces`: a message that was accepted and has bounced.
public struct BounceReport: Codable, Sendable {
    /// The recipient: an e-mail address or a phone number.
    public var identifier: String
    /// Why, as in a delivery status notification: `5.1.1` (RFC 3463). Only permanent failures are bounces.
    public var status: String?

    public init(identifier: String, status: String? = nil) {
        self.identifier = identifier
        self.status = status
    }
}

/// The request to `IDENTITY_RESET_HOOK_URL` after a client has requested a password reset.
public struct PasswordResetMessage: Codable, Sendable, Equatable, Confidential {
    /// `email` or `phone`.
    public var channel: String
    /// The recipient.
    public var to: String
    /// The token that the app sends to `POST /v1/auth/password/reset`.
    public var token: String
    public var expiresAt: Date

    public init(channel: String, to: String, token: String, expiresAt: Date) {
        self.channel = channel
        self.to = to
        self.token = token
        self.expiresAt = expiresAt
    }
}
