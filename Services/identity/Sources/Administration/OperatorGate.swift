import Bytes
import Contracts
import Foundation
import HTTPTypes
import Hummingbird
import ServiceKit

/// Lets in users who have the operators' role, by their access token and by what is kept: who has lost the role, or was
/// disabled, gets in no more, however long the token lives.
struct OperatorGate: RouterMiddleware {
    typealias Context = GatehouseRequestContext

    let accounts: AccountStore
    let role: Role

    func handle(
        _ request: Request, context: GatehouseRequestContext,
        next: (Request, GatehouseRequestContext) async throws -> Response
    ) async throws -> Response {
        let user = try context.requireUser()
        guard user.role.isVerbatim(role.name),
            try await accounts.roleOfActive(user.id, deadline: context.deadline.forDatabase)?.isVerbatim(role.name)
                == true
        else { throw Problem(.forbidden) }
        return try await next(request, context)
    }
}

/// Has the audit log name the system that asks, and the operator whom the system names.
struct SystemScope: RouterMiddleware {
    typealias Context = GatehouseRequestContext

    /// In characters, of the operator's name.
    static let maximumLength = 64

    func handle(
        _ request: Request, context: GatehouseRequestContext,
        next: (Request, GatehouseRequestContext) async throws -> Response
    ) async throws -> Response {
        var scope = AuditScope.current ?? AuditScope()
        let name = request.headers[HTTPField.Name(HeaderName.operatorName)!].flatMap(AuditOrigin.shown)
        scope.name = [context.caller, name.map { String($0.prefix(Self.maximumLength)) }].compactMap(\.self)
            .joined(separator: ": ")
        return try await AuditScope.$current.withValue(scope) { try await next(request, context) }
    }
}

extension GatehouseRequestContext {
    /// For what changes something: an operator has to have proved lately who they are. Other systems have shown their
    /// credential.
    ///
    /// - Throws: `REAUTHENTICATION_REQUIRED`.
    func requireRecentOperator(_ age: AuthenticationAge) throws(Problem) {
        if let user { try age.require(user) }
    }
}
