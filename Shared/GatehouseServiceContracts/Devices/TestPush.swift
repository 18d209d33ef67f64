public import Foundation

/// `POST /v1/admin/test-pushes`: an alert to the calling operator's own devices. devices receives it from identity at
/// `POST /internal/users/{id}/test-pushes`.
public struct TestPushRequest: Codable, Sendable, Equatable {
    /// 1 to 100 characters. Default: `Test push`.
    public var title: String?
    /// 1 to 500 characters.
    public var body: String?
    /// The app. Required if the operator's devices have registered several.
    public var bundleId: String?

    public init(title: String? = nil, body: String? = nil, bundleId: String? = nil) {
        self.title = title
        self.body = body
        self.bundleId = bundleId
    }
}

/// The answer to `GET /v1/admin/users/{id}/undelivered-pushes`: the user's devices that did not receive a push.
public struct UndeliveredPushList: Codable, Sendable, Equatable {
    /// A push that ended on a device in another way than with Apple's acceptance.
    public struct Entry: Codable, Sendable, Equatable {
        @LowercaseUUID public var push: UUID
        @LowercaseUUID public var device: UUID
        /// The service that sent the push; `operator` for operators.
        public var caller: String
        /// The app. Absent when the push is no longer kept.
        public var bundleId: String?
        /// As ``PushType``. Absent when the push is no longer kept.
        public var pushType: String?
        public var state: PushTargetState
        /// Apple's reason, or the cause of a suppression.
        public var reason: String?
        /// When the state was reached.
        public var at: Date
        /// How often the push was sent to the device.
        public var attempts: Int

        public init(
            push: UUID, device: UUID, caller: String, bundleId: String?, pushType: String?, state: PushTargetState,
            reason: String?, at: Date, attempts: Int
        ) {
            self.push = push
            self.device = device
            self.caller = caller
            self.bundleId = bundleId
            self.pushType = pushType
            self.state = state
            self.reason = reason
            self.at = at
            self.attempts = attempts
        }
    }

    /// The newest 50, the newest first.
    public var entries: [Entry]

    public init(entries: [Entry]) {
        self.entries = entries
    }
}
