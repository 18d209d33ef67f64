public import Foundation

/// The answer to `GET /internal/push/outcomes`: what became of a caller's pushes. A push that Apple accepted has no
/// entry.
public struct PushOutcomePage: Codable, Sendable, Equatable {
    /// The end of a push on one device.
    public struct Entry: Codable, Sendable, Equatable {
        @LowercaseUUID public var push: UUID
        @LowercaseUUID public var device: UUID
        @LowercaseUUID public var user: UUID
        public var state: PushTargetState
        /// Apple's reason, or the cause of a suppression.
        public var reason: String?
        public var at: Date

        public init(push: UUID, device: UUID, user: UUID, state: PushTargetState, reason: String? = nil, at: Date) {
            self.push = push
            self.device = device
            self.user = user
            self.state = state
            self.reason = reason
            self.at = at
        }
    }

    public var entries: [Entry]
    /// Opaque. The caller sends it as `after` in the next request.
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
