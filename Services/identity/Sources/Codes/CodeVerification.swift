import Contracts
import Foundation
import Logging
import ServiceKit

/// Showing a code (`POST /v1/auth/code/verify`). What comes of it is what the code was asked for.
struct CodeVerification: Sendable {
    let codes: CodeStore
    let accounts: CodeAccountStore
    let sessions: SessionIssuer
    let limits: AttemptLimits
    let worker: OutboxWorker
    let home: PhoneRegion?
    let logger: Logger

    private static let wrong = Problem(.invalidCredentials, "The code is not right, or it is no longer valid.")

    /// - Returns: a session, where the code was asked for to sign in.
    func callAsFunction(
        _ request: VerifyCodeRequest, context: GatehouseRequestContext
    ) async throws -> AuthResponse? {
        let shown = try read(request)
        let device = try request.device?.checked()
        let deadline = context.deadline.forDatabase
        guard let identifier = try await identifier(of: shown, deadline: deadline) else {
            try await limits.admit(.code, from: context.clientAddress)
            throw Self.wrong
        }
        let user = context.user?.id
        var purposes: [CodePurpose] = [.signIn]
        if let user, try await accounts.has(identifier, user, deadline: deadline) { purposes.append(.verify) }
        let allowed = purposes
        let proof = try await limits.guess(
            codeOf: identifier, from: context.clientAddress, on: device, deadline: context.deadline
        ) {
            guard let proof = try await codes.prove(identifier, by: shown.answer, for: allowed, deadline: deadline)
            else { throw Self.wrong(for: context) }
            return proof
        }
        return try await use(proof) {
            try await codes.close(identifier, for: proof.purpose, deadline: deadline)
            if proof.purpose == .verify, let user {
                guard try await accounts.verify(identifier, of: user, deadline: deadline) else { throw Self.wrong }
                worker.ring()
                return nil
            }
            return try await sessions.issue(
                on: device, by: Self.methods(of: identifier), context: context, refusal: Self.wrong
            ) {
                try await accounts.account(provenBy: identifier, deadline: deadline)
            }.auth
        }
    }

    /// A text message proves less than a mail (NIST SP 800-63B §5.1.3): the access token says which it was.
    private static func methods(of identifier: Identifier) -> [AuthenticationMethod] {
        identifier.kind == .phone ? [.oneTimeCode, .textMessage] : [.oneTimeCode]
    }

    /// What the client shows, and where it says that the code was sent.
    private struct Shown {
        var answer: CodeStore.Answer
        var identifier: Identifier?
        /// The request that asked.
        var request: UUID?
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
            return Shown(answer: .link(token, request: id), identifier: nil, request: id)
        }
        let code = try Problem.checking("code") { () throws(Refusal) in try OneTimeCode(request.code ?? "") }
        let home = home
        let identifier = try request.identifier.map { text throws(Problem) in
            try Problem.checking("identifier") { () throws(Refusal) in try Identifier(text, home: home) }
        }
        guard identifier != nil || id != nil else {
            throw Problem.invalid("identifier", "Please enter an e-mail address or a phone number.")
        }
        return Shown(answer: .code(code, request: id), identifier: identifier, request: id)
    }

    /// - Returns: `nil` where no code was sent by that request, or to another identifier.
    private func identifier(of shown: Shown, deadline: ContinuousClock.Instant) async throws -> Identifier? {
        guard let request = shown.request else { return shown.identifier }
        let identifier = try await codes.identifier(of: request, deadline: deadline)
        return shown.identifier == nil || shown.identifier == identifier ? identifier : nil
    }

    /// A bearer that was refused may be why no code was found. The app refreshes it and asks again.
    private static func wrong(for context: GatehouseRequestContext) -> Problem {
        context.bearerError.map { Problem($0) } ?? wrong
    }

    /// Does what the code was asked for. If that fails through no fault of the user's, the code serves again: the client
    /// repeats its request.
    private func use(_ proof: CodeStore.Proof, _ body: () async throws -> AuthResponse?) async throws -> AuthResponse? {
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
