package import GatehouseServiceContracts
package import GatehouseServiceKit

/// Verifies the credentials of one kind.
package protocol CredentialVerifier: Sendable {
    /// The field of a request that presents the kind, in a refusal.
    var field: String { get }

    /// Whether a request presents the kind.
    /// - Throws: `INVALID_REQUEST` for a field that is too long, whichever kind is presented.
    func isPresented(in request: PresentedCredential) throws(Problem) -> Bool

    /// Verifies the account that a signed-in user presents, and runs `body` with it. The credential is used up, where
    /// it is, if `body` succeeds or fails by the user's fault.
    /// - Throws: `INVALID_CREDENTIALS` or the kind's own refusal; `ACCOUNT_DISABLED`; what `body` throws.
    func verify<Value: Sendable>(
        _ request: PresentedCredential, of subject: VerificationSubject, context: GatehouseRequestContext,
        then body: (VerifiedAccount) async throws -> Value
    ) async throws -> Value
}

/// Verifies a signed-in user again, or the user of another account, by any kind of credential.
package struct CredentialVerification: Sendable {
    let verifiers: [any CredentialVerifier]

    package init(verifiers: [any CredentialVerifier]) {
        self.verifiers = verifiers
    }

    /// Verifies the account that a signed-in user presents with the one credential in the request, and runs `body` with
    /// it.
    /// - Throws: `INVALID_REQUEST` unless the request presents exactly one; what the verifier and `body` throw.
    package func callAsFunction<Value: Sendable>(
        _ request: PresentedCredential, of subject: VerificationSubject, context: GatehouseRequestContext,
        then body: (VerifiedAccount) async throws -> Value
    ) async throws -> Value {
        let presented = try verifiers.filter { try $0.isPresented(in: request) }
        guard let verifier = presented.first else {
            throw Problem.invalid(verifiers[0].field, "Please sign in again, in one of the ways of the account.")
        }
        guard presented.count == 1 else {
            let field = if case .account = subject { presented[1].field } else { verifiers[0].field }
            throw Problem.invalid(field, "Please send only one of several ways to sign in.")
        }
        return try await verifier.verify(request, of: subject, context: context, then: body)
    }
}

/// The account that a request of a signed-in user has to verify.
package enum VerificationSubject: Sendable {
    /// That of the signed-in user.
    case account(of: ForwardedUser)
    /// Another account, which the signed-in user claims.
    case otherAccount(of: ForwardedUser)

    /// Whether the account may be the subject. A user who repeats a merge verifies the account that is left.
    package func accepts(_ account: Account) -> Bool {
        switch self {
        case .account(let user): account.id == user.id
        case .otherAccount: true
        }
    }
}

/// How a user was verified.
package struct Verification: Sendable {
    var credential: CredentialName
    /// For access tokens (RFC 8176).
    var methods: [AuthenticationMethod]
    /// An identifier that was verified with it.
    var identifier: Identifier?
    /// Whether users of the kind request messages, whose limits know the user's networks.
    var requestsMessages: Bool

    package init(
        credential: CredentialName, methods: [AuthenticationMethod], identifier: Identifier? = nil,
        requestsMessages: Bool
    ) {
        self.credential = credential
        self.methods = methods
        self.identifier = identifier
        self.requestsMessages = requestsMessages
    }
}

/// An account, and how its user was verified.
package struct VerifiedAccount: Sendable {
    package var account: Account
    package var verification: Verification

    package init(account: Account, verification: Verification) {
        self.account = account
        self.verification = verification
    }
}

/// The fields with which a signed-in user authenticates again, or to another account. A request presents one kind.
package struct PresentedCredential: Sendable {
    package var password: String?
    /// With a password or code of another account: its identifier.
    package var identifier: String?
    package var identityToken: String?
    package var nonce: String?
    package var code: String?
    package var codeRequest: String?
    package var linkToken: String?

    init(_ request: ReauthenticateRequest) {
        password = request.password
        identityToken = request.identityToken
        nonce = request.nonce
    }

    package init(_ request: MergeRequest) {
        password = request.password
        identifier = request.identifier
        identityToken = request.identityToken
        nonce = request.nonce
        code = request.code
        codeRequest = request.codeRequest
        linkToken = request.linkToken
    }
}
