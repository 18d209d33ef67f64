// UIKit, "UIDevice"
@MainActor
public final class UIDevice {
    // UIKit, "current"
    public static let current = UIDevice()

    // UIKit, "name", "model", "systemVersion"
    public let name = "iPhone"
    public let model = "iPhone"
    public let systemVersion = "26.0"
}
