import Contracts
import Foundation
import Hummingbird
import Logging
import ServiceKit

/// Merges two accounts.
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

/// Merges two accounts (`POST /v1/auth/merge`). The user has recently authenticated to the one, and authenticates to
/// the other in this request.
struct AccountMerging: Sendable {
    let proofs: MergeProofs
    let merges: AccountMergeStore
    let accounts: AccountStore
    let sessions: SessionIssuer
    let age: AuthenticationAge
    let delivery: OutboxDelivery
    let worker: OutboxWorker
    let logger: Logger

    /// - Throws: `REAUTHENTICATION_REQUIRED`; what ``MergeProofs`` throws; `ACCOUNT_DISABLED`; `FORBIDDEN` where the
    ///   accounts are not merged.
    func callAsFunction(
        _ request: MergeRequest, by user: ForwardedUser, context: GatehouseRequestContext
    ) async throws -> MergeResponse {
        try age.require(user)
        if request.password != nil { try proofs.hasher.requireRoom() }
        let device = try request.device?.checked()
        return try await proofs.verify(request, by: user, context: context) { proved in
            guard let own = try await accounts.account(user.id) else { throw Problem(.invalidToken) }
            // A client that repeats the request after a lost response authenticates to the account that it is already
            // signed in to.
            if proved.account.id == own.id { return MergeResponse(user: own.user) }
            let merged = try await merge(own, proved.account, sparing: user.sessionID)
            guard merged.id != own.id else { return MergeResponse(user: merged.user) }
            let auth = try await sessions.issue(
                on: device, by: proved.methods, context: context, refusal: Problem(.invalidToken)
            ) {
                guard let account = try await accounts.account(merged.id) else { throw Problem(.invalidToken) }
                return account
            }.auth
            return MergeResponse(user: auth.user, session: auth)
        }
    }

    private func merge(_ own: Account, _ other: Account, sparing session: UUID) async throws -> Account {
        let outcome = try await merges.merge(own, other, sparing: session)
        switch outcome {
        case .merged(let account, let tasks):
            worker.wake()
            for task in tasks {
                // The accounts are merged. If tokens is unavailable now, the outbox ends the sessions later.
                do { try await delivery.deliver(task) } catch {
                    logger.warning("A merge waits for the tokens service", metadata: ["error": "\(error)"])
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

/// Verifies the other account of a signed-in user.
struct MergeProofs: Sendable {
    let identifiers: IdentifierStore
    let passwords: PasswordStore
    let hasher: PasswordHasher
    let signIn: PasswordSignIn
    /// `nil` where sign-in with Apple is not offered.
    let apple: AppleReauthentication?
    let codes: CodeProofs
    let codeAccounts: CodeAccountStore
    let limits: AttemptLimits
    let home: PhoneRegion?

    struct Proved: Sendable {
        var account: Account
        var methods: [AuthenticationMethod]
    }

    /// Runs `body` with the verified account.
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
            let account = try await apple.account(verifiedBy: token, nonce: request.nonce, context: context)
            return try await body(Proved(account: account, methods: [.apple]))
        case (nil, nil, true):
            let shown = VerifyCodeRequest(
                identifier: request.identifier, code: request.code, codeRequest: request.codeRequest,
                linkToken: request.linkToken)
            return try await codes.verify(shown, context: context) { _ in
                // Clients of the previous release request a code with the purpose `verify`.
                [.merge, .verify]
            } then: { identifier, _ in
                let owner = try await codeAccounts.owner(of: identifier)
                guard let owner else { throw CodeProofs.wrong }
                return try await body(Proved(account: owner, methods: CodeProofs.methods(of: identifier)))
            }
        default:
            throw Problem.invalid("password", "Please send a password, an identity token, or a code.")
        }
    }

    /// - Parameter text: the password of the account with that identifier; without an identifier, of an account that
    ///   has lost one to this user.
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
            let former = try await identifiers.former(owners: user.id)
            for id in former {
                let found = try await passwords.account(id)
                guard let (account, hash) = found, hash != nil,
                    try await hasher.verify(password, against: hash)
                else { continue }
                guard account.state == .active else { throw Problem(.accountDisabled) }
                return account
            }
            throw Problem(.invalidCredentials)
        }
    }
}
