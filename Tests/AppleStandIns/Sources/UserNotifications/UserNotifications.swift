import Synchronization

// UserNotifications, "UNAuthorizationOptions"
public struct UNAuthorizationOptions: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    public static let badge = Self(rawValue: 1 << 0)
    public static let sound = Self(rawValue: 1 << 1)
    public static let alert = Self(rawValue: 1 << 2)
}

// UserNotifications, "UNUserNotificationCenter"
public final class UNUserNotificationCenter {
    // UserNotifications, "current()"
    public class func current() -> UNUserNotificationCenter { UNUserNotificationCenter() }

    // UserNotifications, "requestAuthorization(options:)"
    public func requestAuthorization(options: UNAuthorizationOptions = []) async throws -> Bool {
        try SimulatedPermission.answer.withLock { $0 }.get()
    }
}

/// For tests: the user's answer.
public enum SimulatedPermission {
    static let answer = Mutex<Result<Bool, any Error>>(.success(true))

    public static func answer(_ result: Result<Bool, any Error>) { answer.withLock { $0 = result } }
}
