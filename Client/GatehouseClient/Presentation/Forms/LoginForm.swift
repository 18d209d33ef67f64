/// The form of the sign-in screen: an identifier and a password, with Sign in with Apple and the request for a new
/// password besides. Its description omits the password.
package struct LoginForm: TaskForm {
    package enum Action: Sendable, Equatable {
        case signIn(identifier: String, password: Redacted<String>)
        /// Apple's dialog has returned a credential, or has failed.
        case apple(Result<AppleCredential, GatehouseError>)
        case requestReset(identifier: String)
    }

    /// Invalid input, in the order of the fields.
    package enum Fault: String, Sendable, Hashable, CaseIterable {
        case identifierMissing
        case passwordMissing
        case passwordTooShort
    }

    package var identifier = ""
    package var password = Redacted("")
    package var task = FormTask<Action>.idle {
        didSet {
            switch task {
            // A dialog without a credential is not an attempt to sign in.
            case .working(.apple(.failure)): break
            case .working: (shown, endedBy) = ([], nil)
            default: break
            }
        }
    }
    /// The faults that may be shown. A missing value is reported only after the user had a chance to enter it.
    private var shown: Set<Fault> = []
    private var endedBy: SignOutReason?

    /// In Unicode scalars, as the server counts characters.
    package let minimumPasswordLength: Int

    /// - Parameters:
    ///   - minimumPasswordLength: in Unicode scalars.
    ///   - reason: why the previous session ended, if there was one.
    package init(minimumPasswordLength: Int = 8, after reason: SignOutReason? = nil) {
        self.minimumPasswordLength = minimumPasswordLength
        endedBy = reason
    }

    /// The current faults that may be shown.
    package var faults: Set<Fault> { shown.intersection(allFaults) }

    /// Why the previous session ended. Hidden after the user's next attempt.
    package var notice: InterfaceText? { endedBy?.text }

    /// The title of the message about a failure.
    package var failureTitle: InterfaceText {
        if case .failed(_, .requestReset) = task { .resetFailed } else { .signInFailed }
    }

    /// Whether the user is asked to check for a message.
    package var isResetRequested: Bool {
        if case .done(.requestReset) = task { true } else { false }
    }

    /// Returns the sign-in. `nil` if the input is invalid; then ``faults`` says why.
    package mutating func submit() -> Action? {
        guard allFaults.isEmpty else {
            shown = Set(Fault.allCases)
            return nil
        }
        return .signIn(identifier: identifier.trimmed, password: password)
    }

    /// Returns the request for a new password. `nil` if the identifier is missing.
    package mutating func requestReset() -> Action? {
        guard !allFaults.contains(.identifierMissing) else {
            shown = [.identifierMissing]
            return nil
        }
        return .requestReset(identifier: identifier.trimmed)
    }

    /// Removes the password of a user who has signed in. A form that stays on the screen can be used again.
    package mutating func succeeded(_ action: Action, with output: Void) {
        if case .requestReset = action { return }
        password = Redacted("")
    }

    private var allFaults: Set<Fault> {
        var faults: Set<Fault> = []
        if identifier.trimmed.isEmpty { faults.insert(.identifierMissing) }
        if password.value.isEmpty {
            faults.insert(.passwordMissing)
        } else if password.value.unicodeScalars.count < minimumPasswordLength {
            faults.insert(.passwordTooShort)
        }
        return faults
    }
}
