#if canImport(Security)
    import Dispatch
    import Foundation
    import LocalAuthentication
    import Security

    // The values of Security and of LocalAuthentication for a policy. The two must accept the same authentications.
    extension UnlockPolicy {
        /// The access control of the key to a session. `nil` if the session has no key.
        var accessControl: SecAccessControlCreateFlags? {
            switch self {
            case .notRequired: nil
            case .biometrics: .biometryCurrentSet
            case .biometricsOrPasscode: .userPresence
            }
        }

        private var localAuthentication: LAPolicy? {
            switch self {
            case .notRequired: nil
            case .biometrics: .deviceOwnerAuthenticationWithBiometrics
            case .biometricsOrPasscode: .deviceOwnerAuthentication
            }
        }

        /// Why the system shows no dialog for this policy now; `nil` if it would. It has to be checked separately,
        /// because the Keychain returns the same error for a locked-out device and for a finger that was not
        /// recognized.
        package var obstacle: UnlockObstacle? {
            guard let localAuthentication else { return nil }
            var error: NSError?
            if LAContext().canEvaluatePolicy(localAuthentication, error: &error) { return nil }
            return error?.code == LAError.Code.biometryLockout.rawValue ? .lockedOut : .unavailable
        }

        /// Whether this device can authenticate its user. A device that is locked out can, after its passcode.
        var isAvailable: Bool { obstacle != .unavailable }

        /// A context for one dialog.
        func context(reason: String) -> LAContext {
            let context = LAContext()
            context.localizedReason = reason
            // Only biometrics can unlock the key. An empty title makes the system hide the fallback button.
            if self == .biometrics { context.localizedFallbackTitle = "" }
            return context
        }

        /// Shows the system's dialog, and waits for the user. Do not call it on one of Swift's threads.
        func authenticate(reason: String) throws(TokenStoreError) {
            guard let localAuthentication else { return }
            let isOver = DispatchSemaphore(value: 0)
            let failure = Locked<TokenStoreError?>(nil)
            let context = context(reason: reason)
            context.evaluatePolicy(localAuthentication, localizedReason: reason) { _, error in
                if let error { failure.withLock { $0 = TokenStoreError(authentication: error as NSError) } }
                isOver.signal()
            }
            isOver.wait()
            // The release of the context would cancel the evaluation.
            withExtendedLifetime(context) {}
            if let error = failure.withLock({ $0 }) { throw error }
        }
    }

    extension TokenStoreError {
        /// An error of LocalAuthentication.
        fileprivate init(authentication error: NSError) {
            let code: Code =
                switch LAError.Code(rawValue: error.code) {
                case .authenticationFailed, .biometryLockout: .userPresenceFailed
                case .passcodeNotSet, .biometryNotAvailable, .biometryNotEnrolled: .userPresenceUnavailable
                case .notInteractive: .userPresenceNeeded
                default: .userPresenceRefused
                }
            self.init(code, "LAError \(error.code)")
        }
    }
#endif
