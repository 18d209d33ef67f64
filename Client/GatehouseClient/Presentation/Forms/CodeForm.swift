package import GatehouseContracts

/// The form that requests a six-digit code and verifies it: first the identifier, then the code.
package struct CodeForm: TaskForm {
    package enum Action: Sendable, Equatable {
        case request(identifier: String)
        case verify(Entry)
        /// Uses the link in the message, on the device that requested it.
        case open(linkToken: Redacted<String>, asked: CodeResponse)
    }

    /// A code that the user has entered.
    package struct Entry: Sendable, Equatable {
        package let identifier: String
        /// Six ASCII digits.
        package let code: Redacted<String>
        /// The answer to the request for the code.
        package let asked: CodeResponse
    }

    package enum Output: Sendable {
        /// - `at`: the monotonic time of the answer.
        case sent(CodeResponse, at: Duration)
        case verified
    }

    /// Invalid input.
    package enum Fault: Sendable, Equatable {
        case identifierMissing
        case codeIncomplete
    }

    package var identifier: String
    package var code = Redacted("")
    package var task = FormTask<Action>.idle
    /// The answer to the last request. While it is `nil`, the form shows the identifier.
    package private(set) var asked: CodeResponse?
    /// The monotonic time from which another code may be requested.
    package private(set) var resendsFrom: Duration?
    package private(set) var canResend = false
    /// Whether the code can only go to the identifier that the form was created with.
    package let isIdentifierFixed: Bool
    /// Whether the message has a link: only those with sign-in codes do.
    private let acceptsLink: Bool
    private var showsFault = false

    /// - Parameter identifier: the recipient of the code. `nil` if the user enters it.
    package init(identifier: String? = nil, acceptsLink: Bool = false) {
        self.identifier = identifier ?? ""
        isIdentifierFixed = identifier != nil
        self.acceptsLink = acceptsLink
    }

    /// The current fault, after the user has tried to submit the form.
    package var fault: Fault? { showsFault ? currentFault : nil }

    /// Returns the action of the form's button. `nil` if the input is invalid; then ``fault`` says why.
    package mutating func submit() -> Action? {
        showsFault = currentFault != nil
        guard !showsFault else { return nil }
        guard let asked else { return .request(identifier: identifier.trimmed) }
        return .verify(Entry(identifier: identifier.trimmed, code: Redacted(digits), asked: asked))
    }

    /// Returns the use of a link in a message. `nil` if this form has requested no message, or an action runs: the user
    /// can still enter the digits.
    package func open(linkToken: String) -> Action? {
        guard acceptsLink, let asked, !linkToken.isEmpty, !task.isWorking else { return nil }
        return .open(linkToken: Redacted(linkToken), asked: asked)
    }

    /// Returns the request for another code. `nil` while the server would refuse it.
    package func resend() -> Action? { canResend ? .request(identifier: identifier.trimmed) : nil }

    /// Allows another request if its time has come.
    package mutating func allowResend(at now: Duration) {
        if let resendsFrom, now >= resendsFrom { canResend = true }
    }

    /// Returns to the identifier, so that the user can enter another one.
    package mutating func changeIdentifier() {
        guard !isIdentifierFixed, !task.isWorking else { return }
        (asked, resendsFrom, canResend, code, showsFault) = (nil, nil, false, Redacted(""), false)
    }

    package mutating func succeeded(_ action: Action, with output: Output) {
        code = Redacted("")
        guard case .sent(let response, let now) = output else { return }
        asked = response
        resendsFrom = now + .seconds(response.resendAfter)
        canResend = false
        showsFault = false
    }

    private var currentFault: Fault? {
        if asked == nil { return identifier.trimmed.isEmpty ? .identifierMissing : nil }
        return digits.count == 6 ? nil : .codeIncomplete
    }

    /// The digits of any script, as ASCII. A keyboard in Arabic may type its own.
    private var digits: String {
        // By scalars: an invisible mark after a digit is in the same character.
        String(
            code.value.unicodeScalars.compactMap { Character($0).wholeNumberValue }.filter { (0...9).contains($0) }
                .flatMap(String.init))
    }
}

extension String {
    /// Without whitespace and invisible marks at both ends, which come with what is copied from other apps.
    var trimmed: String {
        func isMargin(_ scalar: Unicode.Scalar) -> Bool {
            scalar.properties.isWhitespace || scalar.properties.isDefaultIgnorableCodePoint
        }
        let start = unicodeScalars.drop(while: isMargin)
        guard let end = start.lastIndex(where: { !isMargin($0) }) else { return "" }
        return String(start[...end])
    }
}
