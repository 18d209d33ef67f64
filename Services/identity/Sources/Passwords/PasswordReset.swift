import Contracts
import Foundation
import Sealing
import ServiceKit

/// A forgotten password (`POST /v1/auth/password/forgot` and `/reset`).
///
/// The answer and its time do not depend on whether there is an account, because all that follows is done later, by the
/// outbox (``PasswordResetDelivery``).
struct PasswordReset: Sendable {
    let resets: PasswordResetStore
    let outbox: OutboxStore
    let hasher: PasswordHasher
    let screening: PasswordScreening
    let limits: AttemptLimits
    let delivery: OutboxDelivery
    let worker: OutboxWorker
    let sealer: Sealer
    let home: PhoneRegion?
    let messages: MessageQueue
    let notices: AccountNotices
    /// Whether the team's own sender is told, instead of one of Gatehouse's.
    let isHooked: Bool

    /// - Parameter acceptLanguage: the client's field, which chooses the message's language.
    func forgot(
        _ request: ForgotPasswordRequest, acceptLanguage: String?, context: GatehouseRequestContext
    ) async throws {
        let identifier = try Problem.checking("identifier") { () throws(Refusal) in
            try Identifier(request.identifier, home: home)
        }
        let device = try request.device?.checked()
        try await limits.admit(
            resetOf: identifier, from: context.clientAddress, on: device, deadline: context.deadline)
        guard isHooked || messages.senders[identifier.kind] != nil else { return }
        let language = messages.language(of: acceptLanguage)
        let text = Data(identifier.value.utf8)
        try await OutboxStore.enqueue(
            .passwordReset(channel: identifier.kind, language: language.code), user: nil, dueAtOnce: true,
            on: outbox.database,
            sealing: { try sealer.seal(text, context: PasswordResetDelivery.context(of: $0)) })
        worker.ring()
    }

    func reset(_ request: ResetPasswordRequest, context: GatehouseRequestContext) async throws {
        let password = try Problem.checking("newPassword") { () throws(Refusal) in try Password(request.newPassword) }
        try await screening.check(password, for: [], field: "newPassword")
        try await limits.admit(.reset, from: context.clientAddress)
        let deadline = context.deadline
        // Looked up before hashing, so that a made-up token does not cost a hash.
        let digest = ResetToken.digest(request.token)
        let wrong = Problem.invalid("token", "The link is no longer valid. Please ask for a new one.")
        guard try await resets.knows(digest, deadline: deadline.forDatabase) else { throw wrong }
        let hash = try await hasher.hash(password, deadline: deadline)
        let entry = try await resets.use(
            digest, passwordHash: hash, notices: notices, deadline: deadline.forDatabase)
        guard let entry else { throw wrong }
        worker.ring()
        try? await delivery.deliver(entry)
    }
}
