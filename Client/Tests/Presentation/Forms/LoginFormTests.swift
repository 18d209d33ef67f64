import Testing

@testable import GatehouseClient

@Suite("The sign-in form")
struct LoginFormTests {
    private static let failure = GatehouseError(.unavailable)
    private static let refusal = GatehouseError(.invalidCredentials)
    private static let signIn = LoginForm.Action.signIn(
        identifier: "ada@example.com", password: Redacted("correct horse"))
    private static let credential = AppleCredential(identityToken: "token")

    private func filled() -> LoginForm {
        var form = LoginForm()
        form.identifier = " ada@example.com\n"
        form.password = Redacted("correct horse")
        return form
    }

    private func working() -> LoginForm {
        var form = filled()
        form.begin(form.submit())
        return form
    }

    private func ended(_ error: GatehouseError?) -> LoginForm {
        var form = working()
        form.end(error)
        return form
    }

    @Test("The identifier is sent without whitespace at both ends, and the password as entered")
    func signsIn() {
        var form = working()
        #expect(form.task == .working(Self.signIn))
        form.end()
        #expect(form.task == .done(Self.signIn) && !form.isResetRequested)
        #expect(form.password.value.isEmpty)
    }

    @Test(
        "Invalid input is not sent, and its faults are shown after the first attempt",
        arguments: [
            ("", "correct horse", [LoginForm.Fault.identifierMissing]),
            ("  \t", "", [.identifierMissing, .passwordMissing]),
            ("ada", "", [.passwordMissing]),
            ("ada", "1234567", [.passwordTooShort]),
            ("ada", "       ", [.passwordTooShort]),
        ] as [(String, String, Set<LoginForm.Fault>)])
    func faults(identifier: String, password: String, faults: Set<LoginForm.Fault>) {
        var form = LoginForm()
        form.identifier = identifier
        form.password = Redacted(password)
        #expect(form.faults.isEmpty)
        #expect(form.submit() == nil)
        #expect(form.faults == faults && form.task == .idle)
        // A corrected value has no fault.
        form.identifier = "ada"
        form.password = Redacted("12345678")
        #expect(form.faults.isEmpty)
        form.begin(form.submit())
        // The fault of a later edit is not shown before the next attempt.
        form.end(Self.refusal)
        form.password = Redacted("")
        #expect(form.faults.isEmpty)
    }

    @Test("The app sets the minimum length of a password, and it is counted as the server counts")
    func minimum() {
        var form = LoginForm(minimumPasswordLength: 4)
        form.identifier = "ada"
        // Three scalars that make one character.
        form.password = Redacted("e\u{301}\u{302}")
        #expect(form.submit() == nil)
        form.password = Redacted("e\u{301}\u{302}x")
        #expect(form.submit() != nil)
    }

    @Test(
        "While an action runs no other one begins",
        arguments: [signIn, .apple(.success(credential)), .apple(.failure(failure)), .requestReset(identifier: "x")])
    func busy(action: LoginForm.Action) {
        var form = working()
        let before = form
        form.begin(action)
        #expect(form == before)
    }

    @Test("A form that stays on the screen after a sign-in can be used again")
    func survivesASignIn() {
        var form = ended(nil)
        // The password has been removed.
        #expect(form.submit() == nil)
        #expect(form.faults == [.passwordMissing])
        form.password = Redacted("correct horse")
        #expect(form.submit() == Self.signIn)
        form.begin(.apple(.success(Self.credential)))
        #expect(form.task.isWorking)
        form.end()
        form.begin(form.requestReset())
        #expect(form.task.isWorking)
    }

    @Test("The reason of a session's end is shown until the next attempt, unless the user ended it")
    func notice() {
        #expect(LoginForm().notice == nil)
        #expect(LoginForm(after: .user).notice == nil)
        var form = LoginForm(after: .endedByServer)
        #expect(form.notice == .endedByServer)
        form.identifier = "ada"
        form.begin(form.submit())
        #expect(form.notice == .endedByServer)
        form.begin(.apple(.failure(GatehouseError(.cancelled))))
        form.end(GatehouseError(.cancelled))
        #expect(form.notice == .endedByServer)
        form.password = Redacted("correct horse")
        form.begin(form.submit())
        #expect(form.notice == nil)
        form.end(Self.refusal)
        #expect(form.notice == nil)
    }

    @Test("A temporary failure is retried unchanged, and a refusal is not retried")
    func triesAgain() {
        var form = ended(Self.failure)
        #expect(form.task.error == Self.failure && form.task.retryableAction == Self.signIn)
        #expect(form.failureTitle == .signInFailed)
        form = ended(Self.refusal)
        #expect(form.task.error == Self.refusal && form.task.retryableAction == nil)
        form.task.dismiss()
        #expect(form.task == .idle && form.identifier == " ada@example.com\n")
    }

    @Test("Cancelling is not an error")
    func cancelled() {
        #expect(ended(GatehouseError(.cancelled)).task == .idle)
        var form = LoginForm()
        form.begin(.apple(.failure(GatehouseError(.cancelled))))
        form.end(GatehouseError(.cancelled))
        #expect(form.task == .idle)
    }

    @Test("A sign-in with Apple's credential can be retried, and a failed dialog cannot")
    func apple() {
        var form = LoginForm()
        let signIn = LoginForm.Action.apple(.success(Self.credential))
        form.begin(signIn)
        form.end(Self.failure)
        #expect(form.task.retryableAction == signIn)

        let error = GatehouseError(.invalidAppleToken)
        form.begin(.apple(.failure(error)))
        form.end(error)
        #expect(form.task.error == error && form.task.retryableAction == nil)
    }

    @Test("The request for a new password needs an identifier")
    func reset() {
        var form = LoginForm()
        #expect(form.requestReset() == nil)
        #expect(form.faults == [.identifierMissing])
        form.identifier = " ada@example.com"
        form.password = Redacted("correct horse")
        let request = LoginForm.Action.requestReset(identifier: "ada@example.com")
        #expect(form.requestReset() == request)
        form.begin(request)
        form.end(Self.failure)
        #expect(form.failureTitle == .resetFailed && form.task.retryableAction == request)
        form.begin(request)
        form.end()
        #expect(form.isResetRequested && form.password.value == "correct horse")
        form.task.dismiss()
        #expect(!form.isResetRequested && form.task == .idle)
    }

    @Test("A printed form contains no password and no token")
    func printsNothing() {
        var apple = LoginForm()
        apple.begin(
            .apple(.success(AppleCredential(identityToken: "apple-secret", authorizationCode: "apple-secret"))))
        for form in [filled(), working(), ended(Self.failure), apple] {
            var dumped = ""
            dump(form, to: &dumped)
            let text = dumped + String(describing: form) + String(reflecting: form)
            #expect(!text.contains("correct horse") && !text.contains("apple-secret"))
        }
    }
}

extension LoginForm {
    /// Begins an action as the screen does.
    fileprivate mutating func begin(_ action: Action?) {
        if let action { _ = task.begin(action) }
    }

    /// Ends the running action as the screen does.
    fileprivate mutating func end(_ error: GatehouseError? = nil) {
        if case .working(let action) = task, error == nil { succeeded(action, with: ()) }
        task.end(error)
    }
}
