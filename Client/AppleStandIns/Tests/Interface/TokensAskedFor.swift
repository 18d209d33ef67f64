// In a file of its own: where Testing and UIKit are both imported the compiler looks for a module that joins the two.
import Foundation
import UIKit

/// How often an app has asked the system for a device token.
@MainActor
var tokensAskedFor: Int { UIApplication.shared.simulatedRegistrations }

/// What the system tells an app that comes to the foreground.
func comeToForeground() {
    NotificationCenter.default.post(name: UIApplication.willEnterForegroundNotification, object: nil)
}
