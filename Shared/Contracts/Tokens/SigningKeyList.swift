public import Foundation

/// The answer to `GET /internal/keys`: what tokens knows of the keys that it publishes, beside the keys themselves.
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

/// What a signing key is for.
public struct SigningKeyState: OpenValue {
    /// It signs.
    public static let active = Self(rawValue: "active")
    /// It is published, and signs after the next rotation.
    public static let next = Self(rawValue: "next")
    /// It is published for its last tokens, and no longer signs.
    public static let retiring = Self(rawValue: "retiring")

    public static let known: [Self] = [.active, .next, .retiring]

    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}
