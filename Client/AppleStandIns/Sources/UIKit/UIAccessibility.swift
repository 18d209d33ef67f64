public import Foundation

// UIKit, "UIAccessibility"
public enum UIAccessibility {
    // UIKit, "UIAccessibility.Notification"
    public struct Notification: RawRepresentable, Hashable, Sendable {
        public let rawValue: UInt32

        public init(rawValue: UInt32) { self.rawValue = rawValue }

        // UIKit, "announcement"
        public static let announcement = Self(rawValue: 1008)
    }

    /// For tests: what VoiceOver was given to say.
    @MainActor
    public private(set) static var simulatedAnnouncements: [String] = []

    // UIKit, "post(notification:argument:)"
    @MainActor
    public static func post(notification: UIAccessibility.Notification, argument: Any?) {
        guard notification == .announcement else { return }
        switch argument {
        case let text as String: simulatedAnnouncements.append(text)
        case let text as NSAttributedString: simulatedAnnouncements.append(text.string)
        default: break
        }
    }
}

extension NSAttributedString.Key {
    // Foundation, "accessibilitySpeechQueueAnnouncement"
    public static let accessibilitySpeechQueueAnnouncement = Self("UIAccessibilitySpeechAttributeQueueAnnouncement")
}
