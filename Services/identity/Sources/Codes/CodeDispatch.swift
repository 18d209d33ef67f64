import Contracts
import Foundation
import ServiceKit

/// Asking for a code (`POST /v1/auth/code`).
///
/// The answer and its time do not depend on whether there is an account: the statements are the same, and the message is
/// sent later, by the outbox.
struct CodeDispatch: Sendable {
    let codes: CodeStore
    let messages: MessageQueue
    let limits: AttemptLimits
    let worker: OutboxWorker
    let home: PhoneRegion?

    /// - Parameter acceptLanguage: the client's field, which chooses the message's language.
    func callAsFunction(
        _ request: CodeRequest, acceptLanguage: String?, context: GatehouseRequestContext
    ) async throws -> CodeResponse {
        let identifier = try Problem.checking("identifier") { () throws(Refusal) in
            let identifier = try Identifier(request.identifier, home: home)
            try messages.check(identifier)
            return identifier
        }
        guard request.purpose.isKnown else {
            throw Problem.invalid("purpose", "There are no codes for this purpose.")
        }
        let device = try request.device?.checked()
        let new = CodeStore.New(identifier: identifier, purpose: request.purpose)
        let message = messages.message(with: new, language: messages.language(of: acceptLanguage))
        let asking = try await limits.asking(
            codeTo: identifier, from: context.clientAddress, on: device, deadline: context.deadline
        ) {
            let asking = try await codes.ask(
                new, from: context.clientAddress, deadline: context.deadline.forDatabase
            ) { transaction in try await messages.enqueue(message, on: transaction) }
            if case .wait(let seconds) = asking { throw Problem(.rateLimited, retryAfter: seconds) }
            return asking
        }
        guard case .kept(let resendAfter) = asking else { throw Problem(.unavailable) }
        worker.ring()
        return CodeResponse(
            codeRequest: new.id.uuidString.lowercased(), expiresIn: CodeRules.lifetime, resendAfter: resendAfter)
    }
}
