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

    private let evaluations = Mutex<[Evaluation]>([])

    // LocalAuthentication, "invalidate()": the release of a context has the same effect.
    deinit {
        for evaluation in evaluations.withLock({ $0 }) { evaluation.end(false, LAError.error(.appCancel)) }
    }

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
        let evaluation = Evaluation(reply)
        evaluations.withLock { $0.append(evaluation) }
        // The reply comes on a queue of the system, after the caller has had the time to release the context.
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(10)) {
            switch (obstacle, answer) {
            case (let obstacle?, _): evaluation.end(false, LAError.error(obstacle))
            case (nil, .accepted): evaluation.end(true, nil)
            case (nil, .cancelled): evaluation.end(false, LAError.error(.userCancel))
            case (nil, .notRecognized): evaluation.end(false, LAError.error(.authenticationFailed))
            case (nil, nil): evaluation.end(false, LAError.error(.notInteractive))
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

/// An evaluation in progress, which ends once.
private final class Evaluation: Sendable {
    private let reply: Mutex<(@Sendable (Bool, (any Error)?) -> Void)?>

    init(_ reply: @escaping @Sendable (Bool, (any Error)?) -> Void) { self.reply = Mutex(reply) }

    func end(_ isAuthenticated: Bool, _ error: (any Error)?) {
        let reply = reply.withLock { reply in
            defer { reply = nil }
            return reply
        }
        reply?(isAuthenticated, error)
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
        case appCancel = -9
        case notInteractive = -1004
    }

    static func error(_ code: Code) -> NSError { NSError(domain: errorDomain, code: code.rawValue, userInfo: nil) }
}

/// For tests: why the device cannot authenticate its user.
public enum SimulatedBiometry {
    static let code = Mutex<LAError.Code?>(nil)

    public static func fail(with newCode: LAError.Code?) { code.withLock { $0 = newCode } }
}
