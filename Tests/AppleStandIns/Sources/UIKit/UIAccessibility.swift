public import Foundation

// UIKit, "UIAccessibility"
public enum UIAccessibility {
    // UIKit, "UIAccessibility.Notification"
    public struct Notification: RawRepresentable, Hashable, Sendable {
        public let rawValue: UInt32

        public init(rawValue: UInt32) { self.rawValue = rawValue }

        // UIKit, "screenChanged"
        public static let screenChanged = Self(rawValue: 1000)
        // UIKit, "announcement"
        public static let announcement = Self(rawValue: 1008)
    }

    // UIKit, "post(notification:argument:)"
    @MainActor
    public static func post(notification: UIAccessibility.Notification, argument: Any?) {}
}

extension NSAttributedString.Key {
    // Foundation, "accessibilitySpeechQueueAnnouncement"
    public static let accessibilitySpeechQueueAnnouncement = Self("UIAccessibilitySpeechAttributeQueueAnnouncement")
}
