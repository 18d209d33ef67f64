import AccessToken
import Contracts
import Crypto
import Foundation
import ServiceKit

/// A forgotten password (`POST /v1/auth/password/forgot` and `/reset`).
///
/// Gatehouse sends no mail: the team's own sender is told through a hook. What is answered and how long that takes does
/// not depend on whether there is an account, since everything about it happens later, in the outbox.
struct PasswordReset: Sendable {
    let accounts: AccountStore
    let outbox: OutboxStore
    let hasher: PasswordHasher
    let policy: PasswordPolicy
    let limits: AttemptLimits
    let delivery: OutboxDelivery
    let worker: OutboxWorker
    let sealer: Sealer
    let home: PhoneRegion?
    /// Whether anybody would send the token on.
    let isHooked: Bool

    func forgot(_ request: ForgotPasswordRequest, context: GatehouseRequestContext) async throws {
        let identifier = try Problem.checking("identifier") { () throws(Refusal) in
            try Identifier(request.identifier, home: home)
        }
        try await limits.admit(messageTo: identifier, from: context.clientAddress)
        guard isHooked else { return }
        let text = Data(identifier.value.utf8)
        try await OutboxStore.enqueue(
            .passwordReset, user: nil, dueAtOnce: true, on: outbox.database,
            sealing: { try sealer.seal(text, context: Self.context(ofJob: $0)) })
        worker.ring()
    }

    func reset(_ request: ResetPasswordRequest, context: GatehouseRequestContext) async throws {
        let password = try Problem.checking("newPassword") { () throws(Refusal) in try Password(request.newPassword) }
        try policy.check(password, for: [], field: "newPassword")
        try await limits.admit(.reset, from: context.clientAddress)
        let deadline = context.deadline
        // Looked at before hashing: guesses must not cost what hashes cost.
        let digest = ResetToken.digest(request.token)
        let wrong = Problem.invalid("token", "The link is no longer valid. Please ask for a new one.")
        guard try await accounts.knows(resetToken: digest, deadline: deadline.forDatabase) else { throw wrong }
        let hash = try await hasher.hash(password, deadline: deadline)
        guard let entry = try await accounts.reset(digest, passwordHash: hash, deadline: deadline.forDatabase) else {
            throw wrong
        }
        worker.ring()
        try? await delivery.deliver(entry)
    }

    static func context(ofJob id: UUID) -> String {
        "password reset \(id.uuidString)"
    }
}

/// What proves that its bearer reads what is sent to the identifier: 256 random bits, kept as their hash.
struct ResetToken: Sendable {
    let text: String
    var digest: [UInt8] { Self.digest(text) }

    /// Seconds.
    static let lifetime: TimeInterval = 1800

    init() {
        text = "ghpr_" + Base64URL.string([UInt8].random(count: 32))
    }

    static func digest(_ text: String) -> [UInt8] {
        Array(SHA256.hash(data: Data(text.utf8)))
    }
}
