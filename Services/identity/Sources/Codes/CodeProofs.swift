import Bytes
import Contracts
import Crypto
import Foundation
import Logging
import Sealing
import ServiceKit

/// Proves an identifier by a code that was sent there, whatever follows from it.
struct CodeProofs: Sendable {
    let codes: CodeStore
    let limits: AttemptLimits
    let home: PhoneRegion?
    let logger: Logger

    static let wrong = Problem(.invalidCredentials, "The code is not right, or it is no longer valid.")

    /// Compares the code, and uses it up for `body`. If that fails through no fault of the user's, the code serves again:
    /// the client repeats its request.
    /// - Parameters:
    ///   - purposes: of the codes that are compared, for the identifier that one was sent to.
    ///   - body: what the code was asked for.
    func verify<Value>(
        _ request: VerifyCodeRequest, context: GatehouseRequestContext,
        for purposes: (Identifier) async throws -> [CodePurpose],
        then body: (Identifier, CodePurpose) async throws -> Value
    ) async throws -> Value {
        AuditedAttempt.note(.code)
        var shown = try read(request)
        let device = try request.device?.checked()
        let deadline = context.deadline.forDatabase
        guard let identifier = try await identifier(of: &shown, deadline: deadline) else {
            try await limits.admit(.code, from: context.clientAddress)
            throw Self.wrong
        }
        AuditedAttempt.note(.code, of: .identifier(identifier))
        let allowed = try await purposes(identifier)
        let proof = try await compare(shown, of: identifier, for: allowed, on: device, context: context)
        guard let proof else { throw Self.wrong(for: context) }
        return try await use(proof) {
            try await codes.close(identifier, for: proof.purpose, deadline: deadline)
            return try await body(identifier, proof.purpose)
        }
    }

    /// Compares with as many open codes as the allowances have room for, and charges one guess for each of them. Nobody
    /// guesses the token of a link, so that costs no guess.
    private func compare(
        _ shown: Shown, of identifier: Identifier, for purposes: [CodePurpose], on device: SessionDevice?,
        context: GatehouseRequestContext
    ) async throws -> CodeStore.Proof? {
        let deadline = context.deadline.forDatabase
        switch shown.answer {
        case .link(let token):
            try await limits.admit(.code, from: context.clientAddress)
            guard let request = shown.found else { return nil }
            return try await codes.verify(link: token, of: request, for: purposes, deadline: deadline)
        case .code(let code):
            let open = try await codes.open(
                identifier, request: shown.request, from: context.clientAddress, for: purposes, deadline: deadline)
            switch open.first?.payer {
            case nil:
                try await limits.admit(.code, from: context.clientAddress)
                return nil
            case .request:
                return try await codes.verify(identifier, by: code, for: purposes, among: open, deadline: deadline)
            case .anybody:
                return try await limits.guess(
                    codeOf: identifier, open: open.count, from: context.clientAddress, on: device,
                    deadline: context.deadline
                ) { count in
                    try await codes.verify(
                        identifier, by: code, for: purposes, among: open.prefix(count), deadline: deadline)
                }
            }
        }
    }

    /// A text message proves less than a mail (NIST SP 800-63B §5.1.3): the access token says which it was.
    static func methods(of identifier: Identifier) -> [AuthenticationMethod] {
        identifier.kind == .phone ? [.oneTimeCode, .textMessage] : [.oneTimeCode]
    }

    /// What the client shows, and where it says that the code was sent.
    private struct Shown {
        enum Answer {
            case code(OneTimeCode)
            case link(String)
        }

        var answer: Answer
        var identifier: Identifier?
        /// The request that asked.
        var request: UUID?
        /// The same, as it was kept.
        var found: CodeStore.Request?
    }

    private func read(_ request: VerifyCodeRequest) throws(Problem) -> Shown {
        let id = try request.codeRequest.map { text throws(Problem) in
            guard text.utf8.count == 36, let id = UUID(uuidString: text) else {
                throw Problem.invalid("codeRequest", "This is nothing that a code was asked for with.")
            }
            return id
        }
        if let token = request.linkToken {
            guard let id else { throw Problem.invalid("codeRequest", "A link needs the request that asked for it.") }
            guard token.utf8.count <= 256 else { throw Self.wrong }
            return Shown(answer: .link(token), request: id)
        }
        let code = try Problem.checking("code") { () throws(Refusal) in try OneTimeCode(request.code ?? "") }
        let home = home
        let identifier = try request.identifier.map { text throws(Problem) in
            try Problem.checking("identifier") { () throws(Refusal) in try Identifier(text, home: home) }
        }
        guard identifier != nil || id != nil else {
            throw Problem.invalid("identifier", "Please enter an e-mail address or a phone number.")
        }
        return Shown(answer: .code(code), identifier: identifier, request: id)
    }

    /// Beside digits, a `codeRequest` counts as absent that has no code of its own: the request was answered without a new
    /// message (``CodeDispatch``), or its code has expired and the digits are of another.
    /// - Returns: `nil` where nothing says where the code was sent, or two things differ.
    private func identifier(of shown: inout Shown, deadline: ContinuousClock.Instant) async throws -> Identifier? {
        guard let id = shown.request else { return shown.identifier }
        shown.found = try await codes.request(id, deadline: deadline)
        if case .code = shown.answer, shown.found == nil || shown.found?.repeats != nil { shown.request = nil }
        guard let found = shown.found else {
            if case .link = shown.answer { return nil }
            return shown.identifier
        }
        return shown.identifier == nil || shown.identifier == found.identifier ? found.identifier : nil
    }

    /// A bearer that was refused may be why no code was found. The app refreshes it and asks again.
    private static func wrong(for context: GatehouseRequestContext) -> Problem {
        context.bearerError.map { Problem($0) } ?? wrong
    }

    private func use<Value>(_ proof: CodeStore.Proof, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            let isFinal = (error as? Problem).map { $0.code.status < 500 } ?? false
            if !isFinal {
                await Task {
                    do {
                        try await codes.release(proof)
                    } catch {
                        logger.warning("A code was used up in vain", metadata: ["error": "\(error)"])
                    }
                }.value
            }
            throw error
        }
    }
}

/// Showing a code (`POST /v1/auth/code/verify`). What comes of it is what the code was asked for.
struct CodeVerification: Sendable {
    let proofs: CodeProofs
    let accounts: CodeAccountStore
    let sessions: SessionIssuer
    let reauthentication: Reauthentication
    let worker: OutboxWorker

    /// - Returns: a session, where the code was asked for to sign in.
    func callAsFunction(
        _ request: VerifyCodeRequest, context: GatehouseRequestContext
    ) async throws -> AuthResponse? {
        let device = try request.device?.checked()
        let deadline = context.deadline.forDatabase
        return try await proofs.verify(request, context: context) { identifier in
            guard let user = context.user?.id,
                let isProved = try await accounts.isProved(identifier, by: user, deadline: deadline)
            else { return [.signIn] }
            // Who reads at an address that the user has not proved need not be the user.
            return isProved ? [.signIn, .verify, .stepUp] : [.signIn, .verify]
        } then: { identifier, purpose in
            switch (purpose, context.user) {
            case (.verify, let user?):
                guard try await accounts.verify(identifier, of: user.id, deadline: deadline) else {
                    throw CodeProofs.wrong
                }
                worker.wake()
                return nil
            case (.stepUp, let user?):
                try await reauthentication(
                    of: user, proving: accounts.owner(of: identifier, deadline: deadline),
                    by: CodeProofs.methods(of: identifier), refusal: CodeProofs.wrong, context: context)
                return nil
            default:
                return try await sessions.issue(
                    on: device, by: CodeProofs.methods(of: identifier), context: context, refusal: CodeProofs.wrong
                ) {
                    try await accounts.account(provenBy: identifier, deadline: deadline)
                }.auth
            }
        }
    }
}

/// What is kept in place of identifiers, codes and link tokens: HMACs under a key that is not in the database. There are
/// so few codes and phone numbers that a plain hash would hide none.
struct CodeKeys: Sendable {
    private let keys: KeyRing

    /// - Parameter keys: those of the passwords' pepper. When one is taken out of its file, the codes that were sent
    ///   under it are no longer valid.
    init(_ keys: KeyRing) {
        self.keys = keys.derived(for: "gatehouse identity codes")
    }

    /// A value's digests: under the key for what is new, and under each.
    struct Digests: Sendable {
        var current: String
        var all: [String]
    }

    func subject(_ identifier: Identifier) -> Digests {
        digests("subject", identifier.kind.rawValue, identifier.value)
    }

    /// A code is bound to what it was sent to and what it was sent for.
    func code(_ code: OneTimeCode, to identifier: Identifier, for purpose: String) -> Digests {
        digests("code", identifier.kind.rawValue, identifier.value, purpose, code.digits)
    }

    func link(_ token: String, of request: UUID) -> Digests {
        digests("link", request.uuidString, token)
    }

    /// Who asks: a device that is known, or else a network.
    func asker(_ address: String, _ knownDevice: [String]?) -> Digests {
        if let knownDevice { return digests("device", knownDevice.joined(separator: "\0")) }
        return digests("network", ClientNetwork.site(of: address))
    }

    /// No part holds a NUL, so that two lists of parts never make the same text.
    private func digests(_ parts: String...) -> Digests {
        let text = Data(parts.joined(separator: "\0").utf8)
        func digest(_ key: SymmetricKey) -> String {
            Base64URL.string(HMAC<SHA256>.authenticationCode(for: text, using: key))
        }
        return Digests(current: digest(keys.current.secret), all: keys.all.map(digest))
    }
}
