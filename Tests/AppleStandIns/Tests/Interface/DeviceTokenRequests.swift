// In a separate file, because for a file that imports Testing and UIKit the compiler looks for a cross-import overlay.
import Foundation
import UIKit

/// How often the app has requested a device token from the system.
@MainActor
var deviceTokenRequests: Int { UIApplication.shared.simulatedRegistrations }

/// Posts the system's notification that the app comes to the foreground.
func comeToForeground() {
    NotificationCenter.default.post(name: UIApplication.willEnterForegroundNotification, object: nil)
}
