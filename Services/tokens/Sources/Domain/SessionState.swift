import Foundation

/// A session's row as the rules of rotation see it. One row stands for all tokens of the session.
struct SessionState: Sendable, Equatable {
    /// The current token's generation.
    var generation: Int32
    var currentHash: [UInt8]
    /// `nil` until the first rotation.
    var previousHash: [UInt8]?
    /// When the current token was made.
    var rotatedAt: Date
    /// How many generations in a row, up to this one, had their predecessor replayed late.
    var lateReplays: Int
    /// Whether this generation is one of them.
    var lateReplayed: Bool
    /// The earlier of idle and absolute expiry.
    var expiresAt: Date
    var absoluteExpiresAt: Date
}
