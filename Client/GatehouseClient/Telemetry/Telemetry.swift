/// Receives events about sign-ins and sessions, for an app's own metrics. Events never contain a secret.
///
/// The session calls it synchronously, so it must return quickly.
public protocol GatehouseTelemetry: Sendable {
    func record(_ event: TelemetryEvent)
}

/// An event of a sign-in or a session.
public struct TelemetryEvent: Sendable, Equatable {
    /// One of the dotted names below.
    public struct Name: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        public init(_ description: String) { self.description = description }

        public static let loginSuccess = Self("auth.login.success")
        /// `reason` names the cause.
        public static let loginFailure = Self("auth.login.failure")
        public static let refreshSuccess = Self("auth.refresh.success")
        /// `reason` names the cause. The session continues unless ``sessionEnded`` follows.
        public static let refreshFailure = Self("auth.refresh.failure")
        /// A request was sent again with a new token after a 401.
        public static let replay = Self("auth.request.replay")
        /// A server refuses bearers that were issued less than a minute before, so that its refusals lead to at most
        /// one refresh a minute. `reason` is the server. Recorded once for each server.
        public static let newBearerRefused = Self("auth.bearer.refused")
        /// `reason` names the cause.
        public static let sessionEnded = Self("auth.session.ended")
    }

    public var name: Name
    /// An error's kind, a credential's type, the reason for the end or a server's address: never a user's words.
    public var reason: String?
    /// The duration.
    public var latency: Duration?

    public init(_ name: Name, reason: String? = nil, latency: Duration? = nil) {
        self.name = name
        self.reason = reason
        self.latency = latency
    }
}

/// Discards all events.
public struct NoTelemetry: GatehouseTelemetry {
    public init() {}

    public func record(_ event: TelemetryEvent) {}
}
