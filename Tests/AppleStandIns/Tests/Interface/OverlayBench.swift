// In a separate file, because for a file that imports Testing and UIKit the compiler looks for a cross-import overlay.
import SwiftUI
import UIKit

@testable import GatehouseUI

/// Scenes with the app's window, and the overlay above it.
@MainActor
struct OverlayBench {
    /// The state of a window.
    struct State: Equatable {
        var isShown: Bool
        var isKey: Bool
        /// Whether VoiceOver reads nothing in it.
        var isSilent: Bool
    }

    let scene = UIWindowScene(simulated: .foregroundActive)
    let other = UIWindowScene(simulated: .foregroundActive)
    let overlay: OverlayWindow
    let anchor: OverlayAnchorView
    let content: UIWindow
    let otherContent: UIWindow

    init(_ session: AppSession = .demo()) {
        overlay = OverlayWindow(session)
        anchor = OverlayAnchorView(window: overlay)
        content = scene.windows[0]
        otherContent = other.windows[0]
    }

    /// Moves the gate to the window of a scene, or out of it, as UIKit does below a full-screen cover.
    func appear(in scene: UIWindowScene?) {
        anchor.window = scene?.windows.first
        anchor.didMoveToWindow()
    }

    /// SwiftUI removes the gate.
    func dismantle() { OverlayAnchor.dismantleUIView(anchor, coordinator: overlay) }

    func show(_ what: Overlay?) { overlay.set(what, screen: AnyView(EmptyView())) }

    /// Another window of the app.
    ///
    /// - Parameter isSilent: whether the app hides it from VoiceOver itself.
    func addWindow(isSilent: Bool = false) -> UIWindow {
        let window = UIWindow(windowScene: scene)
        window.accessibilityElementsHidden = isSilent
        window.isHidden = false
        return window
    }

    func state(of window: UIWindow?) -> State? {
        window.map {
            State(
                isShown: !$0.isHidden && $0.windowScene?.windows.contains($0) == true, isKey: $0.isKeyWindow,
                isSilent: $0.accessibilityElementsHidden)
        }
    }

    func count(in scene: UIWindowScene) -> Int { scene.windows.count }

    var isAboveAlerts: Bool {
        guard let window = overlay.window else { return false }
        return window.windowLevel.rawValue > UIWindow.Level.alert.rawValue && window.rootViewController != nil
            && window.accessibilityViewIsModal
    }
}
