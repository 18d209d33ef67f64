import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import HTTPTypes
import Hummingbird
import IdentityCore

/// Codes that are sent to an identifier and verify it.
struct CodeRoutes: Sendable {
    let dispatch: CodeDispatch
    let verification: CodeVerification

    func add(to router: ServiceRouter) {
        router.post("/v1/auth/code") { request, context in
            let answer = try await dispatch(
                request.decode(CodeRequest.self), acceptLanguage: request.headers[.acceptLanguage], context: context)
            return try Response.json(answer, status: .accepted, holdsToken: true)
        }
        router.post("/v1/auth/code/verify") { request, context in
            let auth = try await verification(request.decode(VerifyCodeRequest.self), context: context)
            guard let auth else { return Response.empty() }
            return try Response.json(auth, holdsToken: true)
        }
    }
}

/// Requests a code (`POST /v1/auth/code`).
///
/// Neither the response nor its time depends on whether an account exists: the statements are the same, and the outbox
/// sends the message later.
struct CodeDispatch: Sendable {
    let codes: CodeStore
    let messages: MessageQueue
    let limits: AttemptLimits
    let worker: OutboxWorker
    let home: PhoneRegion?

    /// - Parameter acceptLanguage: the client's header field, which selects the message's language.
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
        let asking: CodeStore.Asking
        do {
            asking = try await limits.requesting(codeTo: identifier, from: context.clientAddress, on: device) {
                admission in
                var message = message
                message.isAskerKnown = admission.isAskerKnown
                let asking = try await codes.ask(new, from: context.clientAddress, admission: admission) {
                    [message] transaction in try await messages.enqueue(message, on: transaction)
                }
                if case .wait(let seconds, let age) = asking { throw TooSoon(seconds: seconds, age: age) }
                return asking
            }
        } catch let soon as TooSoon {
            let refusal = Problem(.rateLimited, retryAfter: soon.seconds)
            // A double tap is refused, and the client keeps the request that was answered first. Later, other clients
            // in the same network may have caused the wait.
            guard soon.age >= Double(CodeRules.delay(after: 1)) else { throw refusal }
            return try await withoutMessage(new, refusal)
        } catch let refusal as Problem where refusal.code == .rateLimited {
            return try await withoutMessage(new, refusal)
        }
        guard case .kept(let resendAfter) = asking else { throw Problem(.unavailable) }
        worker.wake()
        return CodeResponse(
            codeRequest: new.id.uuidString.lowercased(), expiresIn: CodeRules.lifetime, resendAfter: resendAfter)
    }

    private struct TooSoon: Error {
        var seconds: Int
        /// Seconds since the last request.
        var age: Double
    }

    /// The response where no more messages may be sent to the identifier. The user can still open the link of a code
    /// that was sent before, with the `codeRequest` of this response, or enter the digits with the identifier. The
    /// `codeRequest` gives no reserved tries: the reserved tries of other callers' codes are not this caller's.
    private func withoutMessage(_ new: CodeStore.New, _ refusal: Problem) async throws -> CodeResponse {
        let last = try await codes.repeatLast(new, byLink: messages.codeLink != nil)
        guard let last else { throw refusal }
        return CodeResponse(
            codeRequest: last.request.uuidString.lowercased(), expiresIn: last.expiresIn,
            resendAfter: refusal.retryAfter ?? CodeRules.lifetime)
    }
}
