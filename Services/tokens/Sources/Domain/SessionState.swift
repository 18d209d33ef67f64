import Foundation

/// What the rules of rotation know of a session: its row, which is the whole family of its tokens.
struct SessionState: Sendable, Equatable {
    /// Of the current token.
    var generation: Int32
    var currentHash: [UInt8]
    /// `nil` until the first rotation.
    var previousHash: [UInt8]?
    /// When the current token was made.
    var rotatedAt: Date
    /// Generations whose predecessor was replayed late, in an unbroken run up to this one.
    var lateReplays: Int
    /// Whether this generation's predecessor was replayed late, and so is in the count.
    var lateReplayed: Bool
    /// The earlier of idle and absolute expiry.
    var expiresAt: Date
    var absoluteExpiresAt: Date
}
