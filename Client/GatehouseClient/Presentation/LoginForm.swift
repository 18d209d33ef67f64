/// The sign-in screen without its screen: what the user does and what comes of it change the form, and say what is to be
/// done next. It knows no clock and no network, and shows the password to nobody who prints it.
///
/// ```swift
/// if let action = form.handle(.submit) { … }
/// ```
public struct LoginForm: Sendable, Equatable {
    public enum Event: Sendable, Equatable {
        case identifierChanged(String)
        case passwordChanged(Redacted<String>)
        case submit
        case forgotPassword
        /// Apple's dialog has given a credential.
        case appleSucceeded(AppleCredential)
        /// Apple's dialog has failed; with the kind `cancelled` where the user closed it.
        case appleFailed(GatehouseError)
        /// What was to be done is done.
        case succeeded
        case failed(GatehouseError)
        /// The user wants the failed action once more.
        case tryAgain
        /// The user has read what was shown.
        case dismiss
    }

    public enum Action: Sendable, Equatable {
        case signIn(identifier: String, password: Redacted<String>)
        case signInWithApple(AppleCredential)
        case requestReset(identifier: String)
    }

    public enum Phase: Sendable, Equatable {
        case editing
        /// Everything is disabled, and an indicator turns.
        case working(Action)
        case failed(GatehouseError, Action?)
        /// The user is told to look for a message.
        case resetRequested
        /// Somebody has signed in here. A form that stays on the screen all the same is used as in ``editing``.
        case signedIn
    }

    /// What is wrong with the input, from the first field to the last.
    public enum Fault: String, Sendable, Hashable, CaseIterable {
        case identifierMissing
        case passwordMissing
        case passwordTooShort
    }

    public private(set) var identifier = ""
    public private(set) var password = Redacted("")
    public private(set) var phase = Phase.editing
    /// Whose faults are shown: nobody is told that something is missing before they had a chance to enter it.
    private var shown: Set<Fault> = []
    private var endedBy: SignOutReason?

    /// In Unicode scalars, as the server counts.
    public let minimumPasswordLength: Int

    /// - Parameters:
    ///   - minimumPasswordLength: in Unicode scalars.
    ///   - reason: what ended the session before, if one has ended.
    public init(minimumPasswordLength: Int = 8, after reason: SignOutReason? = nil) {
        self.minimumPasswordLength = minimumPasswordLength
        endedBy = reason
    }

    // MARK: - What is shown

    public var isWorking: Bool {
        if case .working = phase { true } else { false }
    }

    public var error: GatehouseError? {
        if case .failed(let error, _) = phase { error } else { nil }
    }

    /// Whether "Try Again" is offered.
    public var canTryAgain: Bool {
        if case .failed(let error, .some) = phase { error.retry != .never } else { false }
    }

    /// Whether what has failed, or goes on, is the request for a new password.
    public var isAboutReset: Bool {
        switch phase {
        case .working(.requestReset), .failed(_, .requestReset), .resetRequested: true
        default: false
        }
    }

    /// What is wrong now, of that which the user has been told.
    public var faults: Set<Fault> { shown.intersection(allFaults) }

    /// Why the user is here again, until they do something about it.
    public var notice: InterfaceText? { endedBy?.text }

    // MARK: - What happens

    /// Whatever comes at the wrong moment, such as a second tap while the first still works, changes nothing.
    public mutating func handle(_ event: Event) -> Action? {
        switch (event, phase) {
        case (.succeeded, .working(let action)): succeeded(action)
        case (.failed(let error), .working(let action)):
            phase = error.kind == .cancelled ? .editing : .failed(error, action)
        case (_, .working): break
        case (.tryAgain, .failed(_, let action?)) where canTryAgain: return begin(action)
        case (.identifierChanged(let text), _): identifier = text
        case (.passwordChanged(let text), _): password = text
        case (.submit, _): return submit()
        case (.forgotPassword, _): return requestReset()
        case (.appleSucceeded(let credential), _): return begin(.signInWithApple(credential))
        case (.appleFailed(let error), _): phase = error.kind == .cancelled ? .editing : .failed(error, nil)
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
        return begin(.signIn(identifier: trimmedIdentifier, password: password))
    }

    private mutating func requestReset() -> Action? {
        guard !allFaults.contains(.identifierMissing) else {
            shown = [.identifierMissing]
            return nil
        }
        return begin(.requestReset(identifier: trimmedIdentifier))
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

    private var trimmedIdentifier: String {
        let start = identifier.drop { $0.isWhitespace }
        guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(start[...end])
    }

    private var allFaults: Set<Fault> {
        var faults: Set<Fault> = []
        if trimmedIdentifier.isEmpty { faults.insert(.identifierMissing) }
        if password.value.isEmpty {
            faults.insert(.passwordMissing)
        } else if password.value.unicodeScalars.count < minimumPasswordLength {
            faults.insert(.passwordTooShort)
        }
        return faults
    }
}
