package import Foundation

/// The texts of GatehouseUI's screens. Each raw value is a key in `Localizable.strings`, with which an app can
/// replace the text (``LocalizedText``).
package enum InterfaceText: String, Sendable, CaseIterable {
    case loginTitle = "login.title"
    case identifier = "login.identifier"
    case password = "login.password"
    case signIn = "login.submit"
    case or = "login.or"
    case forgotPassword = "login.forgot"
    case signingIn = "login.working"
    case identifierMissing = "login.fault.identifierMissing"
    case passwordMissing = "login.fault.passwordMissing"
    /// Contains the minimum length.
    case passwordTooShort = "login.fault.passwordTooShort"
    case signInFailed = "login.failed.title"
    case resetRequested = "login.reset.title"
    case resetMessage = "login.reset.message"
    case resetFailed = "login.reset.failed.title"
    case launching = "launch.working"
    case launchFailed = "launch.failed.title"
    case locked = "unlock.title"
    case unlockReason = "unlock.reason"
    case unlock = "unlock.button"
    case signInInstead = "unlock.signIn"
    case back = "unlock.back"
    case lockedOut = "unlock.lockedOut"
    case biometryUnavailable = "unlock.unavailable"
    case lockSettingBiometrics = "lock.setting.biometrics"
    case lockSettingPasscode = "lock.setting.passcode"
    case lockReason = "lock.reason"
    case lockMissingTitle = "lock.missing.title"
    case lockMissingBiometrics = "lock.missing.biometrics"
    case lockMissingPasscode = "lock.missing.passcode"
    case endedByServer = "ended.byServer"
    case endedUnused = "ended.unused"
    case endedElsewhere = "ended.elsewhere"
    case endedAtApple = "ended.apple"
    case endedUnreadable = "ended.unreadable"
    case accountDeleted = "ended.accountDeleted"
    /// Any other reason.
    case ended = "ended.other"
    case taskFailed = "task.failed"
    case working = "task.working"
    case cancel = "common.cancel"
    case continueButton = "common.continue"
    case codeTitle = "code.title"
    case verifyTitle = "code.verify.title"
    case sendCode = "code.send"
    case resendCode = "code.resend"
    case codeSent = "code.sent"
    case codeRecipient = "code.recipient"
    case code = "code.label"
    case codeIncomplete = "code.fault.incomplete"
    case otherIdentifier = "code.otherIdentifier"
    case newPassword = "password.new"
    case savePassword = "password.save"
    case changePassword = "password.change"
    case setPassword = "password.set"
    case registerTitle = "register.title"
    case register = "register.submit"
    case forgottenTitle = "forgotten.title"
    case sendMessage = "forgotten.submit"
    case resetTitle = "reset.title"
    case passwordSaved = "reset.done"
    case undoTitle = "undo.title"
    case undoMessage = "undo.message"
    case undo = "undo.submit"
    case undone = "undo.done"
    case reauthenticationTitle = "reauthentication.title"
    case reauthenticateByCode = "reauthentication.code"
    case sessionsTitle = "sessions.title"
    case thisDevice = "sessions.current"
    case unknownDevice = "sessions.unknown"
    case lastUsed = "sessions.lastUsed"
    case signOut = "account.signOut"
    case signOutOthers = "sessions.endOthers"
    case accountTitle = "account.title"
    case email = "account.email"
    case phone = "account.phone"
    case unverified = "account.unverified"
    case verifyButton = "account.verify"
    case add = "account.add"
    case change = "account.change"
    case remove = "account.remove"
    case removeTitle = "account.remove.title"
    case changeHint = "account.change.hint"
    case appleAccount = "account.apple"
    case appleLinked = "account.apple.linked"
    case merge = "account.merge"
    case mergeMessage = "account.merge.message"
    case conflictMessage = "account.merge.conflict"
    case signOutEverywhere = "account.signOutEverywhere"
    case deleteAccount = "account.delete"
    case deletePermanently = "account.delete.confirm"
    case deleteTitle = "account.delete.title"
    case deleteMessage = "account.delete.message"
    case tryAgain = "common.tryAgain"
    case ok = "common.ok"

    /// Returns the text in English, Hebrew, Russian or Arabic; in English for any other language.
    ///
    /// - Parameters:
    ///   - language: a language code: `en`, `he-IL`, `ar_EG`.
    ///   - number: the number in the text, if it has one.
    package func text(in language: String, number: Int? = nil) -> String {
        let text = LocalizedText(key: rawValue, english: english).text(in: language)
        return number.map { text.replacingOccurrences(of: "%d", with: "\($0)") } ?? text
    }

    private var english: String {
        switch self {
        case .loginTitle: "Sign in"
        case .identifier: "E-mail or phone"
        case .password: "Password"
        case .signIn: "Sign In"
        case .or: "or"
        case .forgotPassword: "Forgot password?"
        case .signingIn: "Signing in…"
        case .identifierMissing: "Please enter your e-mail address or phone number."
        case .passwordMissing: "Please enter your password."
        case .passwordTooShort: "The password has at least %d characters."
        case .signInFailed: "You are not signed in"
        case .resetRequested: "Check your messages"
        case .resetMessage:
            "If there is an account with this address or number, you will get a message with which you can choose a new password."
        case .resetFailed: "The message could not be requested"
        case .launching: "Loading…"
        case .launchFailed: "The app could not be opened"
        case .locked: "Locked"
        case .unlockReason: "Unlock to see your account."
        case .unlock: "Unlock"
        case .signInInstead: "Sign in instead"
        case .back: "Back"
        case .lockedOut: "Too many attempts. Lock the device, unlock it with its passcode, and try again."
        case .biometryUnavailable: "This app can’t use Face ID or Touch ID. Check the settings, or sign in instead."
        case .lockSettingBiometrics: "Lock With Face ID or Touch ID"
        case .lockSettingPasscode: "Lock With Face ID, Touch ID or Passcode"
        case .lockReason: "Change how this app is locked."
        case .lockMissingTitle: "The app is not locked"
        case .lockMissingBiometrics:
            "You are signed in. This device has no Face ID or Touch ID that can lock the app. Set one up in the settings."
        case .lockMissingPasscode:
            "You are signed in. This device has no Face ID, Touch ID or passcode that can lock the app. Set one up in the settings."
        case .endedByServer: "Your session was ended. Please sign in again."
        case .endedUnused: "You haven’t used the app for a long time. Please sign in again."
        case .endedElsewhere: "You signed out in another app that shares this account."
        case .endedAtApple: "Sign in with Apple was switched off for this app. Please sign in again."
        case .endedUnreadable: "The sign-in saved on this device can’t be used any more. Please sign in again."
        case .accountDeleted: "Your account has been deleted."
        case .ended: "You have been signed out. Please sign in again."
        case .taskFailed: "That didn’t work"
        case .working: "One moment…"
        case .cancel: "Cancel"
        case .continueButton: "Continue"
        case .codeTitle: "Sign in with a code"
        case .verifyTitle: "Verify with a code"
        case .sendCode: "Send Code"
        case .resendCode: "Send Again"
        case .codeSent: "Enter the six digits that were sent to:"
        case .codeRecipient: "A code will be sent to:"
        case .code: "Six-digit code"
        case .codeIncomplete: "The code has six digits."
        case .otherIdentifier: "Use another address or number"
        case .newPassword: "New password"
        case .savePassword: "Save Password"
        case .changePassword: "Change Password"
        case .setPassword: "Set a Password"
        case .registerTitle: "Create an account"
        case .register: "Create Account"
        case .forgottenTitle: "Forgotten password"
        case .sendMessage: "Send Message"
        case .resetTitle: "Choose a new password"
        case .passwordSaved: "Your new password is saved. Please sign in with it."
        case .undoTitle: "Undo the change"
        case .undoMessage:
            """
            The former address or number becomes yours again. You will be signed out on all devices, and your \
            password will be removed.
            """
        case .undo: "Undo Change"
        case .undone: "The change is undone. Please sign in with a code, and set a new password."
        case .reauthenticationTitle: "Confirm that it’s you"
        case .reauthenticateByCode: "Use a Code Instead"
        case .sessionsTitle: "Devices"
        case .thisDevice: "This device"
        case .unknownDevice: "Unknown device"
        case .lastUsed: "Last used:"
        case .signOut: "Sign Out"
        case .signOutOthers: "Sign Out Everywhere Else"
        case .accountTitle: "Account"
        case .email: "E-mail address"
        case .phone: "Phone number"
        case .unverified: "Not verified"
        case .verifyButton: "Verify"
        case .add: "Add"
        case .change: "Change"
        case .remove: "Remove"
        case .removeTitle: "Remove it from your account?"
        case .changeHint:
            """
            The former address or number receives a message with which you can undo the change within three \
            days.
            """
        case .appleAccount: "Apple Account"
        case .appleLinked: "You can sign in with Apple."
        case .merge: "Merge Accounts"
        case .mergeMessage:
            """
            There is an older account with this address or number. If it is yours, its password merges the two.
            """
        case .conflictMessage:
            """
            Another account uses the address of your Apple Account. If it is yours, a code that is sent there merges \
            the two.
            """
        case .signOutEverywhere: "Sign Out Everywhere"
        case .deleteAccount: "Delete Account"
        case .deletePermanently: "Delete Permanently"
        case .deleteTitle: "Delete your account?"
        case .deleteMessage: "Your account and its data will be deleted. You can’t undo this."
        case .tryAgain: "Try Again"
        case .ok: "OK"
        }
    }

    /// Whether a language is written from right to left.
    package static func isRightToLeft(_ language: String) -> Bool {
        ["ar", "he"].contains(LocalizedText.primarySubtag(language))
    }
}

/// The language of an app's screens and messages.
///
/// The app's localizations limit the choice. An app in English only shows no Hebrew text on a device that is set to
/// Hebrew.
package enum AppLanguage {
    /// The languages with texts.
    static let known: Set<String> = ["en", "he", "ru", "ar"]

    /// The first of the app's languages, in the system's order for the user, that has texts, as in `he`. English if
    /// there is none.
    package static var current: String { first(of: Bundle.main.preferredLocalizations) }

    /// The language of a screen: the app's own `.environment(\.locale, …)`, otherwise ``current``.
    package static func of(screen locale: Locale) -> String {
        of(screen: locale, system: .current, localizations: Bundle.main.preferredLocalizations)
    }

    static func of(screen locale: Locale, system: Locale, localizations: [String]) -> String {
        guard locale.identifier != system.identifier, let code = locale.language.languageCode?.identifier else {
            return first(of: localizations)
        }
        return first(of: [code])
    }

    private static func first(of languages: [String]) -> String {
        languages.lazy.map(LocalizedText.primarySubtag).first(where: known.contains) ?? "en"
    }
}

extension SignOutReason {
    /// The explanation for a sign-in screen, in English, Hebrew, Russian or Arabic. `nil` if the user signed out here.
    ///
    /// - Parameter language: as in ``GatehouseError/message(in:)``.
    public func message(in language: String? = nil) -> String? { text?.text(in: language ?? AppLanguage.current) }

    /// The explanation on the sign-in screen. `nil` if the user signed out here.
    package var text: InterfaceText? {
        switch self {
        case .user: nil
        case .endedByServer: .endedByServer
        case .expired: .endedUnused
        case .accountDeleted: .accountDeleted
        case .otherProcess: .endedElsewhere
        case .appleCredentialRevoked: .endedAtApple
        case .storeCorrupt: .endedUnreadable
        default: .ended
        }
    }
}

extension UnlockPolicy {
    /// The title of the switch that sets the policy.
    package var lockSetting: InterfaceText {
        self == .biometrics ? .lockSettingBiometrics : .lockSettingPasscode
    }

    /// The explanation on a device that cannot follow the policy.
    package var lockMissing: InterfaceText {
        self == .biometrics ? .lockMissingBiometrics : .lockMissingPasscode
    }
}
