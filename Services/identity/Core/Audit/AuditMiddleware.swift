import GatehouseServiceContracts
import GatehouseServiceKit
import HTTPTypes
import Hummingbird
package import ServiceKitPostgres

/// Sets the scope of each request, and records refused credentials. Every attempt to open an account passes through it.
package struct AuditMiddleware: RouterMiddleware {
    typealias Context = GatehouseRequestContext

    let worker: AuditWorker
    let sequencer: SequencedFeed

    package init(worker: AuditWorker, sequencer: SequencedFeed) {
        self.worker = worker
        self.sequencer = sequencer
    }

    func handle(
        _ request: Request, context: GatehouseRequestContext,
        next: (Request, GatehouseRequestContext) async throws -> Response
    ) async throws -> Response {
        let scope = AuditScope(
            userID: context.user?.id,
            origin: AuditOrigin(address: context.clientAddress, userAgent: request.headers[.userAgent]))
        // A request that reads adds no entry.
        defer { if request.method != .get { sequencer.wake() } }
        return try await AuditScope.$current.withValue(scope) {
            try await RequestLanguage.$current.withValue(RequestLanguage.of(request.headers[.acceptLanguage])) {
                do {
                    return try await next(request, context)
                } catch let problem as Problem {
                    if let detail = scope.attempt.refusal(problem, bearerError: context.bearerError) {
                        await worker.refused(scope, detail: detail)
                    }
                    throw problem
                }
            }
        }
    }
}
