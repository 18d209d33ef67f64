public import Foundation

// UIKit, "UIResponder"
@MainActor
open class UIResponder: NSObject {}

// UIKit, "UIColor"
public final class UIColor: NSObject, Sendable {}

// UIKit, "UIUserInterfaceStyle"
public enum UIUserInterfaceStyle: Int, Sendable {
    case unspecified = 0
    case light = 1
    case dark = 2
}

// UIKit, "UIView"
@MainActor
open class UIView: UIResponder {
    // UIKit, "init(frame:)", "init(coder:)"
    public init(frame: CGRect) {}

    public required init?(coder: NSCoder) { nil }

    // UIKit, "window", "didMoveToWindow()"
    open weak var window: UIWindow?

    open func didMoveToWindow() {}

    // UIKit, "isHidden", "isUserInteractionEnabled", "tintColor", "overrideUserInterfaceStyle"
    open var isHidden = false
    open var isUserInteractionEnabled = true
    open var tintColor: UIColor!
    open var overrideUserInterfaceStyle = UIUserInterfaceStyle.unspecified

    // UIKit, "endEditing(_:)"
    @discardableResult
    open func endEditing(_ force: Bool) -> Bool { true }

    // UIKit, "accessibilityElementsHidden", "accessibilityViewIsModal"
    open var accessibilityElementsHidden = false
    open var accessibilityViewIsModal = false
}

// UIKit, "UIViewController"
@MainActor
open class UIViewController: UIResponder {}

// UIKit, "UIScene"
@MainActor
open class UIScene: UIResponder {
    // UIKit, "UIScene.ActivationState"
    public enum ActivationState: Int, Sendable {
        case unattached = -1
        case foregroundActive = 0
        case foregroundInactive = 1
        case background = 2
    }

    // UIKit, "activationState"
    open var activationState: UIScene.ActivationState { simulatedState }

    /// For tests.
    public var simulatedState = ActivationState.foregroundActive

    // UIKit, "session"
    public let session = UISceneSession()
}

// UIKit, "UISceneSession"
@MainActor
public final class UISceneSession: NSObject {
    // UIKit, "persistentIdentifier"
    public let persistentIdentifier = UUID().uuidString
}

// UIKit, "UIUserInterfaceActiveAppearance"
public enum UIUserInterfaceActiveAppearance: Int, Sendable {
    case unspecified = -1
    case inactive = 0
    case active = 1
}

// UIKit, "UITraitCollection"
@MainActor
public final class UITraitCollection: NSObject {
    // UIKit, "activeAppearance"
    public let activeAppearance: UIUserInterfaceActiveAppearance

    // UIKit, "init(activeAppearance:)"
    public init(activeAppearance: UIUserInterfaceActiveAppearance) { self.activeAppearance = activeAppearance }
}

// UIKit, "UIWindowScene"
@MainActor
open class UIWindowScene: UIScene {
    // UIKit, "windows", "keyWindow"
    open internal(set) var windows: [UIWindow] = []
    open internal(set) var keyWindow: UIWindow?

    // UIKit, "traitCollection"
    open var traitCollection: UITraitCollection { UITraitCollection(activeAppearance: simulatedAppearance) }

    /// For tests.
    public var simulatedAppearance = UIUserInterfaceActiveAppearance.unspecified

    /// For tests: a scene with a key window.
    public init(simulated state: ActivationState) {
        super.init()
        simulatedState = state
        UIWindow(windowScene: self).makeKeyAndVisible()
    }
}

// UIKit, "UIWindow"
@MainActor
open class UIWindow: UIView {
    // UIKit, "UIWindow.Level"
    public struct Level: RawRepresentable, Hashable, Sendable {
        public let rawValue: CGFloat

        public init(rawValue: CGFloat) { self.rawValue = rawValue }

        public static let normal = Self(rawValue: 0)
        public static let alert = Self(rawValue: 2000)
    }

    // UIKit, "didBecomeVisibleNotification"
    public nonisolated static let didBecomeVisibleNotification = NSNotification.Name(
        "UIWindowDidBecomeVisibleNotification")

    // UIKit, "init(windowScene:)"
    public init(windowScene: UIWindowScene) {
        super.init(frame: CGRect(x: 0, y: 0, width: 0, height: 0))
        self.windowScene = windowScene
        isHidden = true
    }

    public required init?(coder: NSCoder) { nil }

    // UIKit, "windowScene", "windowLevel", "rootViewController"
    open weak var windowScene: UIWindowScene?
    open var windowLevel = UIWindow.Level.normal
    open var rootViewController: UIViewController?

    // UIKit, "canBecomeKey", "isKeyWindow"
    open var canBecomeKey: Bool { true }
    open var isKeyWindow: Bool { windowScene?.keyWindow === self }

    // UIKit, "makeKey()", "makeKeyAndVisible()"
    open func makeKey() { windowScene?.keyWindow = self }

    open func makeKeyAndVisible() {
        isHidden = false
        makeKey()
    }

    // A scene has its visible windows.
    open override var isHidden: Bool {
        didSet {
            windowScene?.windows.removeAll { $0 === self }
            if !isHidden { windowScene?.windows.append(self) }
            if isHidden, isKeyWindow { windowScene?.keyWindow = nil }
            if oldValue, !isHidden {
                NotificationCenter.default.post(name: Self.didBecomeVisibleNotification, object: self)
            }
        }
    }
}
