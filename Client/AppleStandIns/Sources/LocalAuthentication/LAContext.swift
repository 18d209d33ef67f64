public import Foundation
public import Security

// LocalAuthentication, "LAContext"
public final class LAContext: NSObject, AuthenticationContext {
    // LocalAuthentication, "localizedReason"
    public var localizedReason = ""

    // LocalAuthentication, "interactionNotAllowed"
    public var interactionNotAllowed = false

    // LocalAuthentication, "localizedFallbackTitle"
    public var localizedFallbackTitle: String?
}
