public import Foundation

// UIKit, "UIApplication"
@MainActor
public final class UIApplication {
    // UIKit, "shared"
    public static let shared = UIApplication()

    // UIKit, "didBecomeActiveNotification", "willResignActiveNotification", "didEnterBackgroundNotification"
    public nonisolated static let didBecomeActiveNotification = NSNotification.Name(
        "UIApplicationDidBecomeActiveNotification")
    public nonisolated static let willResignActiveNotification = NSNotification.Name(
        "UIApplicationWillResignActiveNotification")
    public nonisolated static let didEnterBackgroundNotification = NSNotification.Name(
        "UIApplicationDidEnterBackgroundNotification")

    // UIKit, "protectedDataDidBecomeAvailableNotification"
    public nonisolated static let protectedDataDidBecomeAvailableNotification = NSNotification.Name(
        "UIApplicationProtectedDataDidBecomeAvailable")

    // UIKit, "connectedScenes"
    public var connectedScenes: Set<UIScene> { simulatedScenes }

    /// For tests.
    public var simulatedScenes: Set<UIScene> = [UIWindowScene(simulated: .foregroundActive)]

    // UIKit, "applicationState"
    public var applicationState: UIApplication.State { simulatedState }

    /// For tests.
    public var simulatedState = State.active

    // UIKit, "UIApplication.State"
    public enum State: Int, Sendable {
        case active = 0
        case inactive = 1
        case background = 2
    }

    /// For tests: how often the app has requested a device token.
    public private(set) var simulatedRegistrations = 0

    // UIKit, "registerForRemoteNotifications()"
    public func registerForRemoteNotifications() { simulatedRegistrations += 1 }
}

// UIKit, "UIKeyboardType"
public enum UIKeyboardType: Int, Sendable {
    case `default` = 0
    case numberPad = 4
    case phonePad = 5
    case emailAddress = 7
}

// UIKit, "UITextContentType"
public struct UITextContentType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public static let username = Self(rawValue: "username")
    public static let password = Self(rawValue: "password")
    public static let newPassword = Self(rawValue: "new-password")
    public static let telephoneNumber = Self(rawValue: "tel")
    public static let oneTimeCode = Self(rawValue: "one-time-code")
}
