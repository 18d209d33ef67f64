public import Foundation
import Synchronization

// UserNotifications, "UNAuthorizationOptions"
public struct UNAuthorizationOptions: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    public static let badge = Self(rawValue: 1 << 0)
    public static let sound = Self(rawValue: 1 << 1)
    public static let alert = Self(rawValue: 1 << 2)
}

// UserNotifications, "UNAuthorizationStatus"
public enum UNAuthorizationStatus: Int, Sendable {
    case notDetermined = 0
    case denied = 1
    case authorized = 2
    case provisional = 3
    #if !os(macOS)
        case ephemeral = 4
    #endif
}

// UserNotifications, "UNNotificationSettings"
public class UNNotificationSettings {
    // UserNotifications, "authorizationStatus"
    public let authorizationStatus: UNAuthorizationStatus

    init(_ status: UNAuthorizationStatus) { authorizationStatus = status }
}

// UserNotifications, "UNUserNotificationCenter"
public final class UNUserNotificationCenter {
    // UserNotifications, "current()"
    public class func current() -> UNUserNotificationCenter { UNUserNotificationCenter() }

    // UserNotifications, "requestAuthorization(options:)"
    public func requestAuthorization(options: UNAuthorizationOptions = []) async throws -> Bool {
        try SimulatedPermission.answer.withLock { $0 }.get()
    }

    // UserNotifications, "notificationSettings()"
    public func notificationSettings() async -> UNNotificationSettings {
        UNNotificationSettings(SimulatedPermission.status.withLock { $0 })
    }
}

extension UNUserNotificationCenter {
    // UserNotifications, "removeAllDeliveredNotifications()"
    public func removeAllDeliveredNotifications() {}
}

// UserNotifications, "UNNotificationContent"
open class UNNotificationContent: NSObject {
    // UserNotifications, "body", "userInfo"
    open internal(set) var body = ""
    open internal(set) var userInfo: [AnyHashable: Any] = [:]
}

// UserNotifications, "UNMutableNotificationContent"
open class UNMutableNotificationContent: UNNotificationContent {
    open override var body: String {
        get { super.body }
        set { super.body = newValue }
    }
}

// UserNotifications, "UNNotificationRequest"
open class UNNotificationRequest: NSObject {
    // UserNotifications, "content"
    open var content: UNNotificationContent { UNNotificationContent() }
}

// UserNotifications, "UNNotificationServiceExtension"
open class UNNotificationServiceExtension: NSObject {
    // UserNotifications, "didReceive(_:withContentHandler:)"
    open func didReceive(
        _ request: UNNotificationRequest,
        withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) {}
}

/// For tests: the user's answer to the dialog, and what Settings show.
public enum SimulatedPermission {
    static let status = Mutex(UNAuthorizationStatus.notDetermined)

    public static func set(_ new: UNAuthorizationStatus) { status.withLock { $0 = new } }

    static let answer = Mutex<Result<Bool, any Error>>(.success(true))

    public static func answer(_ result: Result<Bool, any Error>) { answer.withLock { $0 = result } }
}
