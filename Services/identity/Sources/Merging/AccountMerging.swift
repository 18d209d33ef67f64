import Contracts
import Foundation
import Hummingbird
import Logging
import ServiceKit

/// Making one account of two.
struct MergeRoutes: Sendable {
    let merging: AccountMerging

    func add(to router: ServiceRouter) {
        router.post("/v1/auth/merge") { request, context in
            let user = try context.requireUser()
            let answer = try await merging(request.decode(MergeRequest.self), by: user, context: context)
            return try Response.json(answer, holdsToken: true)
        }
    }
}

/// Making one account of two (`POST /v1/auth/merge`), by whoever has a recent proof of the one and proves the other now.
struct AccountMerging: Sendable {
    let proofs: MergeProofs
    let merges: AccountMergeStore
    let accounts: AccountStore
    let sessions: SessionIssuer
    let age: AuthenticationAge
    let delivery: OutboxDelivery
    let worker: OutboxWorker
    let logger: Logger

    /// - Throws: `REAUTHENTICATION_REQUIRED`; what ``MergeProofs`` throws; `ACCOUNT_DISABLED`; `FORBIDDEN` where the two
    ///   are not merged.
    func callAsFunction(
        _ request: MergeRequest, by user: ForwardedUser, context: GatehouseRequestContext
    ) async throws -> MergeResponse {
        try age.require(user)
        if request.password != nil { try proofs.hasher.requireRoom() }
        let device = try request.device?.checked()
        return try await proofs.verify(request, by: user, context: context) { proved in
            guard let own = try await accounts.account(user.id, deadline: context.deadline.forDatabase) else {
                throw Problem(.invalidToken)
            }
            // Whoever repeats it, since the answer was lost, proves the account that they are signed in to.
            if proved.account.id == own.id { return MergeResponse(user: own.user) }
            let merged = try await merge(own, proved.account, sparing: user.sessionID, context)
            guard merged.id != own.id else { return MergeResponse(user: merged.user) }
            let auth = try await sessions.issue(
                on: device, by: proved.methods, context: context, refusal: Problem(.invalidToken)
            ) {
                guard let account = try await accounts.account(merged.id, deadline: context.deadline.forDatabase)
                else { throw Problem(.invalidToken) }
                return account
            }.auth
            return MergeResponse(user: auth.user, session: auth)
        }
    }

    private func merge(
        _ own: Account, _ other: Account, sparing session: UUID, _ context: GatehouseRequestContext
    ) async throws -> Account {
        let outcome = try await merges.merge(own, other, sparing: session, deadline: context.deadline.forDatabase)
        switch outcome {
        case .merged(let account, let tasks):
            worker.wake()
            for task in tasks {
                // The accounts are merged. If tokens is away now, the outbox ends the sessions once it is back.
                do { try await delivery.deliver(task) } catch {
                    logger.warning("A merger waits for the tokens service", metadata: ["error": "\(error)"])
                }
            }
            return account
        case .refused(.disabled):
            throw Problem(.accountDisabled)
        case .refused(.rights):
            throw Problem(.forbidden, "The two accounts have different rights. Please ask for help.")
        case .refused(.lateChange):
            throw Problem(
                .forbidden, "An address or number was changed less than three days ago. Please try again later.")
        case .moved:
            throw Problem(.unavailable)
        }
    }
}

/// Finds out which other account somebody who is signed in has proved to be theirs.
struct MergeProofs: Sendable {
    let identifiers: IdentifierStore
    let passwords: PasswordStore
    let hasher: PasswordHasher
    let signIn: PasswordSignIn
    /// `nil` where nobody signs in with Apple.
    let apple: AppleReauthentication?
    let codes: CodeProofs
    let codeAccounts: CodeAccountStore
    let limits: AttemptLimits
    let home: PhoneRegion?

    struct Proved: Sendable {
        var account: Account
        var methods: [AuthenticationMethod]
    }

    /// Runs `body` with the account that is proved.
    /// - Throws: `INVALID_CREDENTIALS`, `INVALID_APPLE_TOKEN`; what `body` throws.
    func verify<Value: Sendable>(
        _ request: MergeRequest, by user: ForwardedUser, context: GatehouseRequestContext,
        then body: (Proved) async throws -> Value
    ) async throws -> Value {
        let isCode = request.code != nil || request.linkToken != nil
        switch (request.password, request.identityToken, isCode) {
        case (let text?, nil, false):
            let account = try await account(text, request.identifier, of: user, context)
            return try await body(Proved(account: account, methods: [.password]))
        case (nil, let token?, false):
            guard let apple else { throw Problem(.invalidAppleToken) }
            let account = try await apple.account(provenBy: token, nonce: request.nonce, context: context)
            return try await body(Proved(account: account, methods: [.apple]))
        case (nil, nil, true):
            let shown = VerifyCodeRequest(
                identifier: request.identifier, code: request.code, codeRequest: request.codeRequest,
                linkToken: request.linkToken)
            return try await codes.verify(shown, context: context) { _ in
                // Clients of the release before ask for a code to verify.
                [.merge, .verify]
            } then: { identifier, _ in
                let owner = try await codeAccounts.owner(of: identifier, deadline: context.deadline.forDatabase)
                guard let owner else { throw CodeProofs.wrong }
                return try await body(Proved(account: owner, methods: CodeProofs.methods(of: identifier)))
            }
        default:
            throw Problem.invalid("password", "Please send a password, an identity token, or a code.")
        }
    }

    /// - Parameter text: the password, of the account with that identifier; without one, of an account that has lost an
    ///   identifier to this user.
    private func account(
        _ text: String, _ identifier: String?, of user: ForwardedUser, _ context: GatehouseRequestContext
    ) async throws -> Account {
        let password = try Problem.checking("password") { () throws(Refusal) in try Password(text) }
        let home = home
        let identifier = try identifier.map { text throws(Problem) in
            try Problem.checking("identifier") { () throws(Refusal) in try Identifier(text, home: home) }
        }
        if let identifier { return try await signIn.verify(identifier, password, device: nil, context: context) }
        return try await limits.guess(passwordOf: user.id, from: context.clientAddress) {
            let former = try await identifiers.former(owners: user.id, deadline: context.deadline.forDatabase)
            for id in former {
                let found = try await passwords.account(id, deadline: context.deadline.forDatabase)
                guard let (account, hash) = found, hash != nil,
                    try await hasher.verify(password, against: hash, deadline: context.deadline)
                else { continue }
                guard account.state == .active else { throw Problem(.accountDisabled) }
                return account
            }
            throw Problem(.invalidCredentials)
        }
    }
}
