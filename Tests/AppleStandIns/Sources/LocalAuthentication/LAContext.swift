public import Foundation
public import Security
import Synchronization

// LocalAuthentication, "LAContext"
public final class LAContext: NSObject, AuthenticationContext {
    // LocalAuthentication, "localizedReason"
    public var localizedReason = ""

    // LocalAuthentication, "interactionNotAllowed"
    public var interactionNotAllowed = false

    // LocalAuthentication, "localizedFallbackTitle"
    public var localizedFallbackTitle: String?

    // LocalAuthentication, "canEvaluatePolicy(_:error:)"
    public func canEvaluatePolicy(_ policy: LAPolicy, error: UnsafeMutablePointer<NSError?>?) -> Bool {
        guard let code = SimulatedBiometry.code.withLock({ $0 }) else { return true }
        error?.pointee = NSError(domain: LAError.errorDomain, code: code.rawValue, userInfo: nil)
        return false
    }
}

// LocalAuthentication, "LAPolicy"
public enum LAPolicy: Int, Sendable {
    // LocalAuthentication, "LAPolicy.deviceOwnerAuthenticationWithBiometrics"
    case deviceOwnerAuthenticationWithBiometrics = 1
}

// LocalAuthentication, "LAError"
public struct LAError: Error {
    // LocalAuthentication, "LAErrorDomain"
    public static var errorDomain: String { "com.apple.LocalAuthentication" }

    // LocalAuthentication, "LAError.Code"
    public enum Code: Int, Sendable {
        case passcodeNotSet = -5
        case biometryNotAvailable = -6
        case biometryNotEnrolled = -7
        case biometryLockout = -8
    }
}

/// For tests: why the device cannot authenticate by biometrics.
public enum SimulatedBiometry {
    static let code = Mutex<LAError.Code?>(nil)

    public static func fail(with newCode: LAError.Code?) { code.withLock { $0 = newCode } }
}
