public import Foundation

/// The answer to `GET /internal/keys`: the states of the keys that tokens publishes.
public struct SigningKeyList: Codable, Sendable, Equatable {
    /// A published key.
    public struct Key: Codable, Sendable, Equatable {
        /// The `kid` of its tokens.
        public var kid: String
        public var state: SigningKeyState
        /// When the key entered its state; `nil` if not recorded.
        public var since: Date?

        public init(kid: String, state: SigningKeyState, since: Date? = nil) {
            self.kid = kid
            self.state = state
            self.since = since
        }
    }

    public var keys: [Key]

    public init(keys: [Key]) {
        self.keys = keys
    }
}

/// The state of a signing key.
public struct SigningKeyState: OpenValue {
    /// The key signs tokens.
    public static let active = Self(rawValue: "active")
    /// The key is published, and signs tokens after the next rotation.
    public static let next = Self(rawValue: "next")
    /// The key no longer signs. It stays published until its last tokens have expired.
    public static let retiring = Self(rawValue: "retiring")

    public static let known: [Self] = [.active, .next, .retiring]

    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}
