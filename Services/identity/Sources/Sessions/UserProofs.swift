import Contracts
import Foundation
import ServiceKit

/// What a request presents to prove an account.
enum PresentedProof: Sendable {
    /// - Parameter identifier: the account's, where the request names it.
    case password(String, identifier: String? = nil)
    case apple(identityToken: String, nonce: String?)
    /// - Parameter purposes: the purposes of the codes to compare.
    case code(VerifyCodeRequest, for: [CodePurpose])
}

/// The account that a request has to prove.
enum ProofSubject: Sendable {
    /// That of the signed-in user.
    case account(of: ForwardedUser)
    /// Another account, which the signed-in user claims.
    case otherAccount(of: ForwardedUser)
}

/// An account, and how its user has authenticated.
struct VerifiedAccount: Sendable {
    var account: Account
    var methods: [AuthenticationMethod]
}

/// Verifies the account that a signed-in user proves, by its password, its Apple account, or a code.
struct UserProofs: Sendable {
    let passwords: PasswordProofs
    /// `nil` where sign-in with Apple is not offered.
    let apple: AppleAccountProofs?
    let codes: CodeProofs
    let codeAccounts: CodeAccountStore

    /// Runs `body` with the verified account.
    /// - Throws: `INVALID_CREDENTIALS`, `INVALID_APPLE_TOKEN`; what `body` throws.
    func verify<Value: Sendable>(
        _ proof: PresentedProof, of subject: ProofSubject, context: GatehouseRequestContext,
        then body: (VerifiedAccount) async throws -> Value
    ) async throws -> Value {
        switch proof {
        case .password(let text, let identifier):
            let account = try await passwords.account(of: subject, verifiedBy: text, identifier, context: context)
            return try await body(VerifiedAccount(account: account, methods: [.password]))
        case .apple(let token, let nonce):
            guard let apple else { throw Problem(.invalidAppleToken) }
            let account = try await apple.account(of: subject, verifiedBy: token, nonce: nonce, context: context)
            return try await body(VerifiedAccount(account: account, methods: [.apple]))
        case .code(let request, let purposes):
            return try await codes.verify(request, context: context) { _ in
                purposes
            } then: { identifier, _ in
                guard let account = try await codeAccounts.owner(of: identifier), subject.accepts(account) else {
                    throw CodeProofs.wrong
                }
                return try await body(VerifiedAccount(account: account, methods: CodeProofs.methods(of: identifier)))
            }
        }
    }
}

extension ProofSubject {
    /// Whether the account may be the subject. A user who repeats a merge proves the account that is left.
    func accepts(_ account: Account) -> Bool {
        switch self {
        case .account(let user): account.id == user.id
        case .otherAccount: true
        }
    }
}
