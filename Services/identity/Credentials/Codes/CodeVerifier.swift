import Crypto
import Foundation
import GatehouseBytes
import GatehouseLimits
package import GatehouseServiceContracts
package import GatehouseServiceKit
package import IdentityCore
import Logging
import Sealing

/// Verifies an identifier by a code that was sent there, for every purpose of codes.
package struct CodeVerifier: CredentialVerifier {
    let codes: CodeStore
    let limits: AttemptLimits
    let accounts: CodeAccountStore
    let home: PhoneRegion?
    let logger: Logger

    package let field = "code"

    package func isPresented(in request: PresentedCredential) -> Bool {
        request.code != nil || request.linkToken != nil
    }

    package func verify<Value: Sendable>(
        _ request: PresentedCredential, of subject: VerificationSubject, context: GatehouseRequestContext,
        then body: (VerifiedAccount) async throws -> Value
    ) async throws -> Value {
        let presented = VerifyCodeRequest(
            identifier: request.identifier, code: request.code, codeRequest: request.codeRequest,
            linkToken: request.linkToken)
        return try await verify(presented, context: context) { _ in
            switch subject {
            case .account: [.stepUp]
            // Clients of the previous release request a code with the purpose `verify`.
            case .otherAccount: [.merge, .verify]
            }
        } then: { identifier, _ in
            guard let account = try await accounts.owner(of: identifier), subject.accepts(account) else {
                throw CodeVerifier.wrong
            }
            return try await body(VerifiedAccount(account: account, verification: .code(to: identifier)))
        }
    }

    package static let wrong = Problem(.invalidCredentials, "The code is not right, or it is no longer valid.")

    /// Compares the code, and uses it up for `body`. If `body` fails through no fault of the user, the code becomes
    /// valid again, so that the client can repeat its request.
    /// - Parameters:
    ///   - purposes: the purposes of the codes to compare, for the identifier that the code was sent to.
    ///   - body: the action that the code was requested for.
    package func verify<Value>(
        _ request: VerifyCodeRequest, context: GatehouseRequestContext,
        for purposes: (Identifier) async throws -> [CodePurpose],
        then body: (Identifier, CodePurpose) async throws -> Value
    ) async throws -> Value {
        AuditedAttempt.note(.code)
        var presented = try read(request)
        let device = try request.device?.checked()
        guard let identifier = try await identifier(of: &presented) else {
            try await limits.admit(.code, from: context.clientAddress)
            throw Self.wrong
        }
        AuditedAttempt.note(.code, of: .identifier(identifier))
        let allowed = try await purposes(identifier)
        let match = try await compare(presented, of: identifier, for: allowed, on: device, context: context)
        guard let match else { throw Self.wrong(for: context) }
        return try await use(match) {
            try await codes.close(identifier, for: match.purpose)
            return try await body(identifier, match.purpose)
        }
    }

    /// Compares the code with as many open codes as the allowances have room for, and charges one guess for each. The
    /// token of a link cannot be guessed, so only a wrong one is charged, to the network.
    private func compare(
        _ presented: Presented, of identifier: Identifier, for purposes: [CodePurpose], on device: SessionDevice?,
        context: GatehouseRequestContext
    ) async throws -> CodeStore.Match? {
        switch presented.answer {
        case .link(let token):
            if let request = presented.found,
                let match = try await codes.verify(link: token, of: request, for: purposes)
            {
                return match
            }
            try await limits.admit(.code, from: context.clientAddress)
            return nil
        case .code(let code):
            let open = try await codes.open(
                identifier, request: presented.request, from: context.clientAddress, for: purposes)
            switch open.first?.payer {
            case nil:
                try await limits.admit(.code, from: context.clientAddress)
                return nil
            case .request:
                return try await codes.verify(identifier, by: code, for: purposes, among: open)
            case .allowance:
                return try await limits.guess(
                    codeOf: identifier, open: open.count, from: context.clientAddress, on: device
                ) { count in
                    try await codes.verify(identifier, by: code, for: purposes, among: open.prefix(count))
                }
            }
        }
    }

    /// The code that the client submits, and where it was sent according to the client.
    private struct Presented {
        enum Answer {
            case code(OneTimeCode)
            case link(String)
        }

        var answer: Answer
        var identifier: Identifier?
        /// The request that asked for the code.
        var request: UUID?
        /// The stored request of that id.
        var found: CodeStore.Request?
    }

    private func read(_ request: VerifyCodeRequest) throws(Problem) -> Presented {
        let id = try request.codeRequest.map { text throws(Problem) in
            guard text.utf8.count == 36, let id = UUID(uuidString: text) else {
                throw Problem.invalid("codeRequest", "This is not the id of a request for a code.")
            }
            return id
        }
        if let token = request.linkToken {
            guard let id else { throw Problem.invalid("codeRequest", "A link needs the request that asked for it.") }
            guard token.utf8.count <= 256 else { throw Self.wrong }
            return Presented(answer: .link(Text.trimmedOfMarks(token)), request: id)
        }
        let code = try Problem.checking("code") { () throws(Refusal) in try OneTimeCode(request.code ?? "") }
        let home = home
        let identifier = try request.identifier.map { text throws(Problem) in
            try Problem.checking("identifier") { () throws(Refusal) in try Identifier(text, home: home) }
        }
        guard identifier != nil || id != nil else {
            throw Problem.invalid("identifier", "Please enter an e-mail address or a phone number.")
        }
        return Presented(answer: .code(code), identifier: identifier, request: id)
    }

    /// With digits, a `codeRequest` without a code of its own counts as absent. Either the request was answered without
    /// a new message (``CodeDispatch``), or its code has expired and the digits belong to another code.
    /// - Returns: `nil` where no field says where the code was sent, or two fields disagree.
    private func identifier(of presented: inout Presented) async throws -> Identifier? {
        guard let id = presented.request else { return presented.identifier }
        presented.found = try await codes.request(id)
        if case .code = presented.answer, presented.found == nil || presented.found?.repeats != nil {
            presented.request = nil
        }
        guard let found = presented.found else {
            if case .link = presented.answer { return nil }
            return presented.identifier
        }
        return presented.identifier == nil || presented.identifier == found.identifier ? found.identifier : nil
    }

    /// If the access token was refused, its error takes precedence, because it may be the reason that no code was
    /// found. The app then refreshes the token and repeats the request.
    private static func wrong(for context: GatehouseRequestContext) -> Problem {
        context.bearerError.map { Problem($0) } ?? wrong
    }

    private func use<Value>(_ match: CodeStore.Match, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            let isFinal = (error as? Problem).map { $0.code.status < 500 } ?? false
            if !isFinal {
                // Also if the client has disconnected, or the request's deadline has passed.
                await Deadline.shielded {
                    do {
                        try await codes.release(match)
                    } catch {
                        logger.warning("A code could not be made valid again", metadata: ["error": "\(error)"])
                    }
                }
            }
            throw error
        }
    }
}

/// Verifies a code (`POST /v1/auth/code/verify`), and does what the code was requested for.
struct CodeVerification: Sendable {
    let verifier: CodeVerifier
    let sessions: SessionIssuer
    let reauthentication: Reauthentication
    let worker: OutboxWorker

    /// - Returns: a session, where the code was requested for signing in.
    func callAsFunction(
        _ request: VerifyCodeRequest, context: GatehouseRequestContext
    ) async throws -> AuthResponse? {
        let device = try request.device?.checked()
        return try await verifier.verify(request, context: context) { identifier in
            guard let user = context.user?.id,
                let isVerified = try await verifier.accounts.isVerified(identifier, by: user)
            else { return [.signIn] }
            // The reader of an address that the user has not verified may be another person.
            return isVerified ? [.signIn, .verify, .stepUp] : [.signIn, .verify]
        } then: { identifier, purpose in
            switch (purpose, context.user) {
            case (.verify, let user?):
                guard try await verifier.accounts.verify(identifier, of: user.id) else { throw CodeVerifier.wrong }
                worker.wake()
                return nil
            case (.stepUp, let user?):
                try await reauthentication(
                    of: user, verified: verifier.accounts.owner(of: identifier), by: .code(to: identifier),
                    refusal: CodeVerifier.wrong)
                return nil
            default:
                return try await sessions.issue(
                    on: device, by: .code(to: identifier), context: context, refusal: CodeVerifier.wrong
                ) {
                    try await verifier.accounts.account(verifiedBy: identifier)
                }.auth
            }
        }
    }
}

/// HMACs that are stored in place of identifiers, codes and link tokens, under a key that is not in the database. Codes
/// and phone numbers are so few that a plain hash could be reversed.
struct CodeKeys: Sendable {
    private let keys: KeyRing

    /// - Parameter keys: the keys of the passwords' pepper. When a key is removed from its file, the codes that were
    ///   sent under it become invalid.
    init(_ keys: KeyRing) {
        self.keys = keys.derived(for: "gatehouse identity codes")
    }

    /// A value's digests: `current` under the key for new values, `all` under each key.
    struct Digests: Sendable {
        var current: String
        var all: [String]
    }

    func subject(_ identifier: Identifier) -> Digests {
        digests("subject", identifier.kind.rawValue, identifier.value)
    }

    /// A code is bound to its identifier and its purpose.
    func code(_ code: OneTimeCode, to identifier: Identifier, for purpose: String) -> Digests {
        digests("code", identifier.kind.rawValue, identifier.value, purpose, code.digits)
    }

    func link(_ token: String, of request: UUID) -> Digests {
        digests("link", request.uuidString, token)
    }

    /// The party that asks: a known device, or else a network.
    func asker(_ address: String, _ knownDevice: [String]?) -> Digests {
        if let knownDevice { return digests("device", knownDevice.joined(separator: "\0")) }
        return digests("network", ClientNetwork.site(of: address))
    }

    /// No part contains a NUL, so two lists of parts never produce the same text.
    private func digests(_ parts: String...) -> Digests {
        let text = Data(parts.joined(separator: "\0").utf8)
        func digest(_ key: SymmetricKey) -> String {
            Base64URL.string(HMAC<SHA256>.authenticationCode(for: text, using: key))
        }
        return Digests(current: digest(keys.current.secret), all: keys.all.map(digest))
    }
}
