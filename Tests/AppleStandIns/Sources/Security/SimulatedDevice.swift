import Synchronization

/// For tests: a device with a Keychain, a lock and, usually, biometrics.
public final class SimulatedDevice: Sendable {
    public enum Lock: Sendable {
        /// The device has not been unlocked since it started.
        case beforeFirstUnlock
        case locked
        case unlocked
    }

    /// A user's action in the system's dialog.
    public enum Answer: Sendable {
        case accepted, cancelled, notRecognized
    }

    struct State {
        var lock = Lock.unlocked
        var enrolment: Int? = 1
        var hasPasscode = true
        var answers: [Answer] = []
        var prompts: [String] = []
        var isInBackground = false
        var hooks: [String: [@Sendable () -> Void]] = [:]
        var failures: [String: OSStatus] = [:]
    }

    let state = Mutex(State())
    let keychain = SimulatedKeychain()
    /// A Mac also has a file-based Keychain, for calls that do not select the data protection Keychain.
    let isMac: Bool

    public init(isMac: Bool = false) { self.isMac = isMac }

    public var lock: Lock {
        get { state.withLock { $0.lock } }
        set { state.withLock { $0.lock = newValue } }
    }

    /// In the background the system shows no dialog.
    public var isInBackground: Bool {
        get { state.withLock { $0.isInBackground } }
        set { state.withLock { $0.isInBackground = newValue } }
    }

    /// The reasons shown in dialogs so far.
    public var prompts: [String] { state.withLock { $0.prompts } }

    /// The user's answers to the next dialogs. Later dialogs are accepted.
    public func user(answers: Answer...) { state.withLock { $0.answers += answers } }

    /// The user adds a finger or a face.
    public func changeBiometrics() { state.withLock { $0.enrolment = ($0.enrolment ?? 0) + 1 } }

    public func removeBiometrics() { state.withLock { $0.enrolment = nil } }

    /// A device without a passcode has no biometrics either.
    public func removePasscode() {
        state.withLock { ($0.enrolment, $0.hasPasscode) = (nil, false) }
        keychain.passcodeRemoved()
    }

    public func setPasscode() { state.withLock { $0.hasPasscode = true } }

    public var hasBiometrics: Bool { enrolment != nil }
    public var hasPasscode: Bool { state.withLock { $0.hasPasscode } }

    /// The user's answer in a dialog of LocalAuthentication; `nil` if the system cannot show it.
    public func answer(to reason: String) -> Answer? {
        state.withLock { state in
            guard !state.isInBackground, state.lock == .unlocked else { return nil }
            state.prompts.append(reason)
            return state.answers.isEmpty ? .accepted : state.answers.removeFirst()
        }
    }

    /// Runs `body` immediately before the next call with that name executes.
    public func beforeNext(_ call: String, _ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.hooks[call, default: []].append(body) }
    }

    /// Makes every call with that name fail with `status`; `nil` ends this.
    public func fail(_ call: String, with status: OSStatus?) { state.withLock { $0.failures[call] = status } }

    var enrolment: Int? { state.withLock { $0.enrolment } }

    func failure(of call: String) -> OSStatus? { state.withLock { $0.failures[call] } }

    func willCall(_ name: String) {
        let hook = state.withLock { state -> (@Sendable () -> Void)? in
            guard var hooks = state.hooks[name], !hooks.isEmpty else { return nil }
            defer { state.hooks[name] = hooks }
            return hooks.removeFirst()
        }
        hook?()
    }

    /// The system's dialog.
    func prompt(_ reason: String) throws(Refusal) {
        switch answer(to: reason) {
        case .accepted: return
        case .cancelled: throw Refusal(errSecUserCanceled)
        case .notRecognized: throw Refusal(errSecAuthFailed)
        case nil: throw Refusal(errSecInteractionNotAllowed)
        }
    }
}
