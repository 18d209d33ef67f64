/// The state machine of the sign-in screen. Events of the user and results of actions change the form and return the
/// next action. It uses no clock and no network, and its description omits the password.
///
/// ```swift
/// if let action = form.handle(.submit) { … }
/// ```
package struct LoginForm: Sendable, Equatable {
    package enum Event: Sendable, Equatable {
        case identifierChanged(String)
        case passwordChanged(Redacted<String>)
        case submit
        case forgotPassword
        /// Apple's dialog has returned a credential.
        case appleSucceeded(AppleCredential)
        /// Apple's dialog has failed. The kind is `cancelled` if the user closed it.
        case appleFailed(GatehouseError)
        /// The action has succeeded.
        case succeeded
        case failed(GatehouseError)
        /// The user retries the failed action.
        case tryAgain
        /// The user has dismissed the message.
        case dismiss
    }

    package enum Action: Sendable, Equatable {
        case signIn(identifier: String, password: Redacted<String>)
        case signInWithApple(AppleCredential)
        case requestReset(identifier: String)
    }

    package enum Phase: Sendable, Equatable {
        case editing
        /// Controls are disabled, and a progress indicator is shown.
        case working(Action)
        case failed(GatehouseError, Action?)
        /// The user is asked to check for a message.
        case resetRequested
        /// The user has signed in. A form that stays on the screen behaves as in ``editing``.
        case signedIn
    }

    /// Invalid input, in the order of the fields.
    package enum Fault: String, Sendable, Hashable, CaseIterable {
        case identifierMissing
        case passwordMissing
        case passwordTooShort
    }

    package private(set) var identifier = ""
    package private(set) var password = Redacted("")
    package private(set) var phase = Phase.editing
    /// Counts the failures. SwiftUI presents an alert only if its view is new, or after it has seen that no alert is
    /// presented. "Try Again" may fail before that, so each failure needs an alert of its own.
    package private(set) var failures = 0
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

    // MARK: - Presentation

    package var isWorking: Bool {
        if case .working = phase { true } else { false }
    }

    package var error: GatehouseError? {
        if case .failed(let error, _) = phase { error } else { nil }
    }

    /// Whether "Try Again" is offered.
    package var canTryAgain: Bool {
        if case .failed(let error, .some) = phase { error.retry != .never } else { false }
    }

    /// Whether the current or failed action is the request for a password reset.
    package var isAboutReset: Bool {
        switch phase {
        case .working(.requestReset), .failed(_, .requestReset), .resetRequested: true
        default: false
        }
    }

    /// The current faults that may be shown.
    package var faults: Set<Fault> { shown.intersection(allFaults) }

    /// Why the previous session ended. Hidden after the user's next action.
    package var notice: InterfaceText? { endedBy?.text }

    // MARK: - Events

    /// Events that do not fit the phase change nothing, such as a second tap while an action runs.
    package mutating func handle(_ event: Event) -> Action? {
        switch (event, phase) {
        case (.succeeded, .working(let action)): succeeded(action)
        case (.failed(let error), .working(let action)): failed(error, action)
        case (_, .working): break
        case (.tryAgain, .failed(_, let action?)) where canTryAgain: return begin(action)
        case (.identifierChanged(let text), _): identifier = text
        case (.passwordChanged(let text), _): password = text
        case (.submit, _): return submit()
        case (.forgotPassword, _): return requestReset()
        case (.appleSucceeded(let credential), _): return begin(.signInWithApple(credential))
        case (.appleFailed(let error), _): failed(error, nil)
        case (.dismiss, _): phase = .editing
        case (.succeeded, _), (.failed, _), (.tryAgain, _): break
        }
        return nil
    }

    private mutating func submit() -> Action? {
        let faults = allFaults
        guard faults.isEmpty else {
            shown = [.identifierMissing, .passwordMissing, .passwordTooShort]
            return nil
        }
        return begin(.signIn(identifier: identifier.trimmed, password: password))
    }

    private mutating func requestReset() -> Action? {
        guard !allFaults.contains(.identifierMissing) else {
            shown = [.identifierMissing]
            return nil
        }
        return begin(.requestReset(identifier: identifier.trimmed))
    }

    private mutating func begin(_ action: Action) -> Action {
        shown = []
        endedBy = nil
        phase = .working(action)
        return action
    }

    private mutating func succeeded(_ action: Action) {
        if case .requestReset = action {
            phase = .resetRequested
        } else {
            password = Redacted("")
            phase = .signedIn
        }
    }

    private mutating func failed(_ error: GatehouseError, _ action: Action?) {
        guard error.kind != .cancelled else {
            phase = .editing
            return
        }
        failures += 1
        phase = .failed(error, action)
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
