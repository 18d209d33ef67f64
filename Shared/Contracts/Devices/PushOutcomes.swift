public import Foundation

/// What became of a caller's pushes, after a cursor (`GET /internal/push/outcomes`). Acceptances by Apple have no entry
/// of their own: the entry of a push that is done counts them.
public struct PushOutcomePage: Codable, Sendable, Equatable {
    /// The end of a push on one device other than its acceptance, or the end of a whole push.
    public struct Entry: Codable, Sendable, Equatable {
        @LowercaseUUID public var push: UUID
        /// `nil` when the whole push is done.
        public var device: UUID?
        public var user: UUID?
        /// `done` when the whole push is done.
        public var state: PushTargetState
        /// Apple's reason, or the cause of a suppression.
        public var reason: String?
        public var at: Date
        /// The number of devices in each state, when the whole push is done.
        public var counts: [String: Int]?

        public init(
            push: UUID, device: UUID? = nil, user: UUID? = nil, state: PushTargetState, reason: String? = nil,
            at: Date, counts: [String: Int]? = nil
        ) {
            self.push = push
            self.device = device
            self.user = user
            self.state = state
            self.reason = reason
            self.at = at
            self.counts = counts
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
