// In a separate file, because for a file that imports Testing and UIKit the compiler looks for a cross-import overlay.
import Foundation
import UIKit

/// How often the app has requested a device token from the system.
@MainActor
var deviceTokenRequests: Int { UIApplication.shared.simulatedRegistrations }

extension NotificationCenter {
    /// Posts the system's notification that the app has become active.
    @MainActor
    func becomeActive() { post(name: UIApplication.didBecomeActiveNotification, object: nil) }

    /// Posts the system's notification that the device was unlocked.
    @MainActor
    func unlockDevice() { post(name: UIApplication.protectedDataDidBecomeAvailableNotification, object: nil) }

    /// Posts the system's notification that a dialog or the app switcher covers the app.
    @MainActor
    func resignActive() { post(name: UIApplication.willResignActiveNotification, object: nil) }

    /// Posts the system's notifications that the user has left the app.
    @MainActor
    func enterBackground() {
        resignActive()
        post(name: UIApplication.didEnterBackgroundNotification, object: nil)
    }
}

/// Runs `body` in an app with these scenes.
@MainActor
func withScenes(_ simulated: [UIScene], _ body: () async throws -> Void) async throws {
    let scenes = UIApplication.shared.simulatedScenes
    UIApplication.shared.simulatedScenes = Set(simulated)
    defer { UIApplication.shared.simulatedScenes = scenes }
    try await body()
}

@MainActor
func backgroundScenes(_ count: Int) -> [UIScene] { (0..<count).map { _ in UIWindowScene(simulated: .background) } }

@MainActor
func foregroundScene(isActive: Bool) -> UIScene {
    UIWindowScene(simulated: isActive ? .foregroundActive : .foregroundInactive)
}

/// Makes a scene the one that the user works in.
@MainActor
func bringToFront(_ scene: UIScene?, of scenes: [UIScene]) {
    for other in scenes { (other as? UIWindowScene)?.simulatedAppearance = other === scene ? .active : .inactive }
}

@MainActor
func identifier(of scene: UIScene) -> String { scene.session.persistentIdentifier }

@MainActor
func keyWindow(of scene: UIScene) -> UIWindow? { (scene as? UIWindowScene)?.keyWindow }
