public import Foundation

// AppKit, "NSApplication"
@MainActor
public final class NSApplication {
    // AppKit, "shared"
    public static let shared = NSApplication()

    // AppKit, "didBecomeActiveNotification", "didHideNotification"
    public nonisolated static let didBecomeActiveNotification = NSNotification.Name(
        "NSApplicationDidBecomeActiveNotification")
    public nonisolated static let didHideNotification = NSNotification.Name("NSApplicationDidHideNotification")

    // AppKit, "registerForRemoteNotifications()"
    public func registerForRemoteNotifications() {}

    // AppKit, "isHidden"
    public var isHidden: Bool { false }

    // AppKit, "keyWindow"
    public var keyWindow: NSWindow? { nil }
}

// AppKit, "NSWindow"
@MainActor
public final class NSWindow {}

// AppKit, "NSTextContentType"
public struct NSTextContentType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public static let username = Self(rawValue: "NSTextContentTypeUsername")
    public static let password = Self(rawValue: "NSTextContentTypePassword")
    public static let oneTimeCode = Self(rawValue: "NSTextContentTypeOneTimeCode")
}
