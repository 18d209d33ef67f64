import AsyncHTTPClient
import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import IdentityCore
import NIOCore
import Sealing

/// Resets a forgotten password (`POST /v1/auth/password/forgot` and `/reset`).
///
/// Neither the response nor its time depends on whether an account exists, because the outbox does the rest later
/// (``PasswordResetDelivery``).
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
    let notices: SecurityNotices
    /// Whether the team's own sender sends the message, instead of Gatehouse.
    let isHooked: Bool

    /// - Parameter acceptLanguage: the client's header field, which selects the message's language.
    func forgot(
        _ request: ForgotPasswordRequest, acceptLanguage: String?, context: GatehouseRequestContext
    ) async throws {
        let identifier = try Problem.checking("identifier") { () throws(Refusal) in
            try Identifier(request.identifier, home: home)
        }
        let device = try request.device?.checked()
        let admission = try await limits.admit(resetOf: identifier, from: context.clientAddress, on: device)
        guard isHooked || messages.senders[identifier.kind] != nil else { return }
        let language = messages.language(of: acceptLanguage)
        let text = Data(identifier.value.utf8)
        try await OutboxStore.enqueue(
            .passwordReset(
                channel: identifier.kind, language: language.code, isAskerKnown: admission.isAskerKnown),
            user: nil, dueAtOnce: true, on: outbox.database,
            sealing: { try sealer.seal(text, context: PasswordResetDelivery.context(of: $0)) })
        worker.wake()
    }

    func reset(_ request: ResetPasswordRequest, context: GatehouseRequestContext) async throws {
        let password = try Problem.checking("newPassword") { () throws(Refusal) in try Password(request.newPassword) }
        try await screening.check(password, for: [], field: "newPassword")
        try await limits.admit(.reset, from: context.clientAddress)
        // Looked up before hashing, so that an invalid token does not cost a hash.
        let digest = SingleUseToken.digest(of: request.token)
        let wrong = Problem.invalid("token", "The link is no longer valid. Please ask for a new one.")
        guard try await resets.knows(digest) else { throw wrong }
        let hash = try await hasher.hash(password)
        let entry = try await resets.use(digest, passwordHash: hash, notices: notices)
        guard let entry else { throw wrong }
        worker.wake()
        try? await delivery.deliver(entry)
    }
}

/// Sends tokens for setting a new password, as a task of the outbox.
struct PasswordResetDelivery: Sendable {
    let identifiers: IdentifierStore
    let resets: PasswordResetStore
    let limits: AttemptLimits
    let sealer: Sealer
    /// The team's own sender; `nil`: Gatehouse sends the message.
    let hook: ResetHook?
    let messages: MessageDelivery
    /// The base address of the message's link; `nil`: the message contains only the token.
    let link: URL?

    /// The purpose of the ``Sealer`` for identifiers. The text is that of Apple's grants, for the tasks of before.
    static let sealingPurpose = "gatehouse identity sealing"

    /// Binds the sealed identifier to its task.
    static func context(of task: UUID) -> String {
        "password reset \(task.uuidString)"
    }

    /// Each delivery creates a new token. A token that was not delivered is useless.
    /// - Parameters:
    ///   - language: the language of Gatehouse's own message.
    ///   - isAskerKnown: ``AttemptLimits/Admission/isAskerKnown``.
    func deliver(_ entry: OutboxEntry, language: String?, isAskerKnown: Bool) async throws {
        guard let sealed = entry.sealed,
            let text = sealer.open(sealed, context: Self.context(of: entry.id)),
            let value = String(validating: text, as: UTF8.self), let identifier = try? Identifier(value),
            Date.now.timeIntervalSince(entry.createdAt) < SingleUseToken.Purpose.passwordReset.lifetime
        else { return }
        guard let holder = try await identifiers.holder(of: identifier) else { return }
        if case .email(let address) = identifier {
            guard try await messages.forwarding.mayReceiveMail(address) else { return }
        }
        let number: PhoneNumber? = if hook == nil, case .phone(let number) = identifier { number } else { nil }
        try await limits.sendingReset(to: number, isAskerKnown: isAskerKnown) {
            let token = SingleUseToken(.passwordReset)
            let expiresAt = Date.now.addingTimeInterval(token.lifetime)
            guard try await resets.start(of: identifier, token: token, expiresAt: expiresAt) != nil else {
                return false
            }
            // The request contains no name or other text by the user. An attacker who registers another person's
            // address could otherwise write to them in the team's name.
            if let hook {
                try await hook.send(
                    PasswordResetMessage(
                        channel: identifier.kind.rawValue, to: identifier.value, token: token.text,
                        expiresAt: expiresAt))
            } else {
                let place = link.map { "\($0.absoluteString)#\(token.text)" } ?? token.text
                let envelope = MessageEnvelope(
                    .passwordReset, to: identifier, language: language.flatMap(MessageLanguage.init) ?? .english,
                    values: [.link: place], expiresAt: expiresAt)
                try await messages.send(envelope, to: identifier, of: holder, as: entry.id)
            }
            return true
        }
    }
}

/// The team's own sender of mail and messages.
struct ResetHook: Sendable {
    let httpClient: HTTPClient
    let url: URL
    /// Sent as `Authorization: Bearer`, which authenticates the request as Gatehouse's.
    let secret: String

    func send(_ message: PasswordResetMessage) async throws {
        try await httpClient.post(
            Array(JSON.encode(message)), toHook: url, "Authorization", "Bearer \(secret)", timeout: .seconds(5))
    }
}

extension OutboxTask {
    /// Sends a token for a new password to the user who asked for one.
    /// - Parameters:
    ///   - channel: the kind of identifier that the message goes to; `nil` in tasks of older versions.
    ///   - language: the message's language, where Gatehouse writes the message.
    ///   - isAskerKnown: whether a known device or network has asked; `nil` in tasks of older versions.
    static func passwordReset(
        channel: Identifier.Kind?, language: String?, isAskerKnown: Bool? = nil
    ) -> OutboxTask {
        OutboxTask(
            PasswordResetTask(channel: channel, language: language, isAskerKnown: isAskerKnown),
            for: OutboxDestination(channel))
    }
}

struct PasswordResetTask: OutboxPayload {
    static let kind = "password_reset"
    static let key = "passwordReset"

    var channel: Identifier.Kind?
    var language: String?
    var isAskerKnown: Bool?
}

extension PasswordResetDelivery {
    var handlers: [OutboxHandler] {
        [
            OutboxHandler(PasswordResetTask.self, for: .mail, .phone) { task, entry in
                try await deliver(entry, language: task.language, isAskerKnown: task.isAskerKnown ?? false)
                return .done
            }
        ]
    }
}
