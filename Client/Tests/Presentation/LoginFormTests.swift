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
        #expect(form.handle(.identifierChanged(" ada@example.com\n")) == nil)
        #expect(form.handle(.passwordChanged(Redacted("correct horse"))) == nil)
        return form
    }

    private func working() -> LoginForm {
        var form = filled()
        #expect(form.handle(.submit) == Self.signIn)
        return form
    }

    private func failed(_ error: GatehouseError = failure) -> LoginForm {
        var form = working()
        #expect(form.handle(.failed(error)) == nil)
        return form
    }

    @Test("Signs in with what was entered, without the spaces around it; the password as it is")
    func signsIn() {
        var form = working()
        #expect(form.isWorking && form.error == nil && !form.isAboutReset)
        #expect(form.handle(.succeeded) == nil)
        #expect(form.phase == .signedIn && !form.isWorking)
        #expect(form.password.value.isEmpty)
    }

    @Test(
        "The form sends nothing that cannot be right, and tells the user only after they have tried",
        arguments: [
            ("", "correct horse", [LoginForm.Fault.identifierMissing]),
            ("  \t", "", [.identifierMissing, .passwordMissing]),
            ("ada", "", [.passwordMissing]),
            ("ada", "1234567", [.passwordTooShort]),
            ("ada", "       ", [.passwordTooShort]),
        ] as [(String, String, Set<LoginForm.Fault>)])
    func faults(identifier: String, password: String, faults: Set<LoginForm.Fault>) {
        var form = LoginForm()
        _ = form.handle(.identifierChanged(identifier))
        _ = form.handle(.passwordChanged(Redacted(password)))
        #expect(form.faults.isEmpty)
        #expect(form.handle(.submit) == nil)
        #expect(form.faults == faults && form.phase == .editing)
        // What is mended is not found fault with any more.
        _ = form.handle(.identifierChanged("ada"))
        _ = form.handle(.passwordChanged(Redacted("12345678")))
        #expect(form.faults.isEmpty)
        #expect(form.handle(.submit) != nil)
    }

    @Test("The shortest password is a matter of the app, and is counted as the server counts")
    func minimum() {
        var form = LoginForm(minimumPasswordLength: 4)
        _ = form.handle(.identifierChanged("ada"))
        // Three scalars that make one character.
        _ = form.handle(.passwordChanged(Redacted("e\u{301}\u{302}")))
        #expect(form.handle(.submit) == nil)
        _ = form.handle(.passwordChanged(Redacted("e\u{301}\u{302}x")))
        #expect(form.handle(.submit) != nil)
    }

    @Test(
        "While it works nothing else begins and nothing changes",
        arguments: [
            .submit, .forgotPassword, .appleSucceeded(credential), .appleFailed(failure), .identifierChanged("x"),
            .passwordChanged(Redacted("x")), .tryAgain, .dismiss,
        ] as [LoginForm.Event])
    func busy(event: LoginForm.Event) {
        var form = working()
        let before = form
        #expect(form.handle(event) == nil)
        #expect(form == before)
    }

    @Test("A form that is still on the screen after a sign-in is a form again")
    func survivesASignIn() {
        var form = working()
        _ = form.handle(.succeeded)
        for late in [LoginForm.Event.succeeded, .failed(Self.failure), .tryAgain] {
            #expect(form.handle(late) == nil)
            #expect(form.phase == .signedIn)
        }
        // The password has gone.
        #expect(form.handle(.submit) == nil)
        #expect(form.faults == [.passwordMissing])
        _ = form.handle(.passwordChanged(Redacted("correct horse")))
        #expect(form.password.value == "correct horse")
        #expect(form.handle(.submit) == Self.signIn)
        _ = form.handle(.succeeded)
        #expect(form.handle(.appleSucceeded(Self.credential)) == .signInWithApple(Self.credential))
        _ = form.handle(.succeeded)
        #expect(form.handle(.forgotPassword) != nil)
    }

    @Test("The form says why a session has ended until the next attempt, but not to a user who ended it")
    func notice() {
        #expect(LoginForm().notice == nil)
        #expect(LoginForm(after: .user).notice == nil)
        var form = LoginForm(after: .endedByServer)
        #expect(form.notice == .endedByServer)
        _ = form.handle(.identifierChanged("ada"))
        _ = form.handle(.submit)
        #expect(form.notice == .endedByServer)
        _ = form.handle(.passwordChanged(Redacted("correct horse")))
        _ = form.handle(.submit)
        #expect(form.notice == nil)
        _ = form.handle(.failed(Self.refusal))
        #expect(form.notice == nil)
    }

    @Test(
        "A result that the form does not wait for changes nothing",
        arguments: [
            .succeeded, .failed(failure), .tryAgain,
        ] as [LoginForm.Event])
    func late(event: LoginForm.Event) {
        var form = filled()
        let before = form
        #expect(form.handle(event) == nil)
        #expect(form == before)
    }

    @Test("What failed for a while is tried again as it was; what was refused is not offered again")
    func triesAgain() {
        var form = failed()
        #expect(form.error == Self.failure && form.canTryAgain)
        #expect(form.handle(.tryAgain) == Self.signIn)
        #expect(form.isWorking)

        form = failed(Self.refusal)
        #expect(!form.canTryAgain)
        #expect(form.handle(.tryAgain) == nil)
        #expect(form.error == Self.refusal)
        _ = form.handle(.dismiss)
        #expect(form.phase == .editing && form.identifier == " ada@example.com\n")
    }

    @Test("Each failure has an alert of its own")
    func failures() {
        var form = failed()
        let first = form.failures
        _ = form.handle(.tryAgain)
        #expect(form.failures == first)
        _ = form.handle(.failed(Self.failure))
        #expect(form.failures == first + 1)
        _ = form.handle(.dismiss)
        _ = form.handle(.appleFailed(GatehouseError(.invalidAppleToken)))
        #expect(form.failures == first + 2)
        _ = form.handle(.appleFailed(GatehouseError(.cancelled)))
        #expect(form.failures == first + 2)
    }

    @Test("What was cancelled is no error")
    func cancelled() {
        #expect(failed(GatehouseError(.cancelled)).phase == .editing)
        var form = LoginForm()
        _ = form.handle(.appleFailed(GatehouseError(.cancelled)))
        #expect(form.phase == .editing)
    }

    @Test("Apple's credential is sent; a dialog that failed is begun anew, not tried again")
    func apple() {
        var form = LoginForm()
        #expect(form.handle(.appleSucceeded(Self.credential)) == .signInWithApple(Self.credential))
        _ = form.handle(.failed(Self.failure))
        #expect(form.handle(.tryAgain) == .signInWithApple(Self.credential))
        _ = form.handle(.succeeded)
        #expect(form.phase == .signedIn)

        form = LoginForm()
        _ = form.handle(.appleFailed(GatehouseError(.invalidAppleToken)))
        #expect(form.error?.kind == .invalidAppleToken && !form.canTryAgain)
        #expect(form.handle(.tryAgain) == nil)
    }

    @Test("A new password is asked for by who has said who they are")
    func reset() {
        var form = LoginForm()
        #expect(form.handle(.forgotPassword) == nil)
        #expect(form.faults == [.identifierMissing])
        _ = form.handle(.identifierChanged("ada@example.com"))
        #expect(form.handle(.forgotPassword) == .requestReset(identifier: "ada@example.com"))
        #expect(form.isWorking && form.isAboutReset)
        _ = form.handle(.failed(Self.failure))
        #expect(form.isAboutReset)
        #expect(form.handle(.tryAgain) == .requestReset(identifier: "ada@example.com"))
        _ = form.handle(.succeeded)
        #expect(form.phase == .resetRequested && form.isAboutReset)
        _ = form.handle(.dismiss)
        #expect(form.phase == .editing)
    }

    @Test("Nothing that is printed of a form shows a password or a token")
    func printsNothing() {
        var forms = [filled(), working(), failed()]
        var apple = LoginForm()
        _ = apple.handle(
            .appleSucceeded(
                AppleCredential(
                    identityToken: "apple-secret", authorizationCode: "apple-secret")))
        forms.append(apple)
        for form in forms {
            var dumped = ""
            dump(form, to: &dumped)
            let text = dumped + String(describing: form) + String(reflecting: form)
            #expect(!text.contains("correct horse") && !text.contains("apple-secret"))
        }
    }
}
