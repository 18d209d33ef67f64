#if canImport(SwiftUI)
    import Foundation
    import GatehouseClient

    #if canImport(LocalAuthentication)
        import LocalAuthentication
    #endif

    extension UnlockObstacle {
        /// What this device says; `nil` where it would ask. The Keychain answers a device that is locked out as it does a
        /// finger that was not recognized.
        @MainActor
        static func now() -> UnlockObstacle? {
            #if canImport(LocalAuthentication)
                var error: NSError?
                if LAContext().canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error) { return nil }
                return error?.code == LAError.Code.biometryLockout.rawValue ? .lockedOut : .unavailable
            #else
                return nil
            #endif
        }
    }
#endif
