import Contracts
import Foundation
import HTTPTypes
import Hummingbird
import ServiceKit

/// Who is acting, and from where, as far as the audit log wants to know: set once for a request or a command, and read
/// where an entry is written, so that nothing in between has to hand it on.
struct AuditScope: Sendable {
    @TaskLocal static var current: AuditScope?

    /// The user who is signed in.
    var userID: UUID?
    /// Who it is where it is no user of ours: an operator's name on the machine.
    var name: String?
    var origin: AuditOrigin?
    /// The one of the request, however often the scope is copied.
    let attempt = AuditedAttempt()

    init(userID: UUID? = nil, name: String? = nil, origin: AuditOrigin? = nil) {
        self.userID = userID
        self.name = name
        self.origin = origin
    }

    /// The same with what the app says of its device.
    func on(_ device: SessionDevice?) -> AuditScope {
        guard let device else { return self }
        var scope = self
        scope.origin = AuditOrigin(
            address: origin?.address, userAgent: origin?.userAgent, device: device.name ?? device.model,
            appVersion: device.appVersion)
        return scope
    }
}

/// Sets the scope of each request, and records refused credentials: every attempt to open an account passes here.
struct AuditMiddleware: RouterMiddleware {
    typealias Context = GatehouseRequestContext

    let worker: AuditWorker

    func handle(
        _ request: Request, context: GatehouseRequestContext,
        next: (Request, GatehouseRequestContext) async throws -> Response
    ) async throws -> Response {
        let scope = AuditScope(
            userID: context.user?.id,
            origin: AuditOrigin(address: context.clientAddress, userAgent: request.headers[.userAgent]))
        return try await AuditScope.$current.withValue(scope) {
            try await RequestLanguage.$current.withValue(RequestLanguage.of(request.headers[.acceptLanguage])) {
                do {
                    return try await next(request, context)
                } catch let problem as Problem {
                    let detail = scope.attempt.refusal(
                        problem, path: request.uri.path, bearerError: context.bearerError)
                    if let detail {
                        await worker.refused(scope, detail: detail, deadline: context.deadline.forDatabase)
                    }
                    throw problem
                }
            }
        }
    }
}
