import Dispatch
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
        guard let code = obstacle(of: policy) else { return true }
        error?.pointee = LAError.error(code)
        return false
    }

    // LocalAuthentication, "evaluatePolicy(_:localizedReason:reply:)"
    public func evaluatePolicy(
        _ policy: LAPolicy, localizedReason: String, reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        let obstacle = obstacle(of: policy)
        let answer = obstacle == nil ? SimulatedApp.current?.device.answer(to: localizedReason) : nil
        // The reply comes on a queue of the system.
        DispatchQueue.global().async {
            switch (obstacle, answer) {
            case (let obstacle?, _): reply(false, LAError.error(obstacle))
            case (nil, .accepted): reply(true, nil)
            case (nil, .cancelled): reply(false, LAError.error(.userCancel))
            case (nil, .notRecognized): reply(false, LAError.error(.authenticationFailed))
            case (nil, nil): reply(false, LAError.error(.notInteractive))
            }
        }
    }

    /// The state of the calling app's device, and elsewhere that of ``SimulatedBiometry``.
    private func obstacle(of policy: LAPolicy) -> LAError.Code? {
        guard let device = SimulatedApp.current?.device else { return SimulatedBiometry.code.withLock { $0 } }
        if !device.hasPasscode { return .passcodeNotSet }
        return policy == .deviceOwnerAuthenticationWithBiometrics && !device.hasBiometrics ? .biometryNotEnrolled : nil
    }
}

// LocalAuthentication, "LAPolicy"
public enum LAPolicy: Int, Sendable {
    // LocalAuthentication, "LAPolicy.deviceOwnerAuthenticationWithBiometrics"
    case deviceOwnerAuthenticationWithBiometrics = 1
    // LocalAuthentication, "LAPolicy.deviceOwnerAuthentication"
    case deviceOwnerAuthentication = 2
}

// LocalAuthentication, "LAError"
public struct LAError: Error {
    // LocalAuthentication, "LAErrorDomain"
    public static var errorDomain: String { "com.apple.LocalAuthentication" }

    // LocalAuthentication, "LAError.Code"
    public enum Code: Int, Sendable {
        case authenticationFailed = -1
        case userCancel = -2
        case passcodeNotSet = -5
        case biometryNotAvailable = -6
        case biometryNotEnrolled = -7
        case biometryLockout = -8
        case notInteractive = -1004
    }

    static func error(_ code: Code) -> NSError { NSError(domain: errorDomain, code: code.rawValue, userInfo: nil) }
}

/// For tests: why the device cannot authenticate its user.
public enum SimulatedBiometry {
    static let code = Mutex<LAError.Code?>(nil)

    public static func fail(with newCode: LAError.Code?) { code.withLock { $0 = newCode } }
}
