/// Is told of what happens to sign-ins and sessions, for an app's own measurements. It is never told a secret.
///
/// It is called on the session's way: it hands on and returns.
public protocol Telemetry: Sendable {
    func record(_ event: TelemetryEvent)
}

/// Something that happened.
public struct TelemetryEvent: Sendable, Equatable {
    /// A name with dots, of those below.
    public struct Name: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        public init(_ description: String) { self.description = description }

        public static let loginSuccess = Self("auth.login.success")
        /// `reason` says why.
        public static let loginFailure = Self("auth.login.failure")
        public static let refreshSuccess = Self("auth.refresh.success")
        /// `reason` says why. The session goes on unless ``sessionEnded`` follows.
        public static let refreshFailure = Self("auth.refresh.failure")
        /// A request was sent again with a new token after a 401.
        public static let replay = Self("auth.request.replay")
        /// `reason` says why.
        public static let sessionEnded = Self("auth.session.ended")
    }

    public var name: Name
    /// An error's kind, a way to sign in, a reason for the end: words of this library, never a user's.
    public var reason: String?
    /// How long it took.
    public var latency: Duration?

    public init(_ name: Name, reason: String? = nil, latency: Duration? = nil) {
        self.name = name
        self.reason = reason
        self.latency = latency
    }
}

/// Forgets what it is told.
public struct NoTelemetry: Telemetry {
    public init() {}

    public func record(_ event: TelemetryEvent) {}
}
