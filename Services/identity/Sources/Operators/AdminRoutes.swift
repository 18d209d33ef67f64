import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import GatehouseServiceKit
import HTTPTypes
import Hummingbird
import IdentityCore

/// Registers each route twice: under `/v1/admin` for operators, who come through the gateway, and under
/// `/internal/admin` for other systems, which authenticate with a credential of their own.
struct AdminRouter {
    /// Only under `/v1/admin`: for routes that concern the operator themselves, which a system is not.
    let operators: RouterGroup<GatehouseRequestContext>
    private let groups: [RouterGroup<GatehouseRequestContext>]

    typealias Handler = @Sendable (Request, GatehouseRequestContext) async throws -> Response

    /// - Parameter gate: admits operators only.
    init(_ router: ServiceRouter, gate: OperatorGate) {
        operators = router.group("/v1/admin").add(middleware: UncachedResponses()).add(middleware: gate)
        let systems = router.internal(callers: "admin").add(middleware: UncachedResponses())
            .add(middleware: SystemScope()).group("/admin")
        groups = [operators, systems]
    }

    func get(_ path: RouterPath, use handler: @escaping Handler) {
        for group in groups { group.get(path, use: handler) }
    }

    func post(_ path: RouterPath, use handler: @escaping Handler) {
        for group in groups { group.post(path, use: handler) }
    }

    func put(_ path: RouterPath, use handler: @escaping Handler) {
        for group in groups { group.put(path, use: handler) }
    }

    func patch(_ path: RouterPath, use handler: @escaping Handler) {
        for group in groups { group.patch(path, use: handler) }
    }

    func delete(_ path: RouterPath, use handler: @escaping Handler) {
        for group in groups { group.delete(path, use: handler) }
    }
}

/// Forbids caches to store the responses to operators.
private struct UncachedResponses: RouterMiddleware {
    func handle(
        _ request: Request, context: GatehouseRequestContext,
        next: (Request, GatehouseRequestContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        response.headers[.cacheControl] = "no-store"
        return response
    }
}

/// Routes for operators, and for other systems that act on their behalf.
struct AdminRoutes: Sendable {
    let gate: OperatorGate
    let users: AdminUserRoutes
    let sessions: AdminSessionRoutes
    let identifiers: AdminIdentifierRoutes
    let pushes: AdminPushRoutes
    let log: AdminLogRoutes

    func add(to router: ServiceRouter) {
        let admin = AdminRouter(router, gate: gate)
        users.add(to: admin)
        sessions.add(to: admin)
        identifiers.add(to: admin)
        pushes.add(to: admin)
        log.add(to: admin)
    }
}

/// Admits users who have the operators' role, both in their access token and in the database. A user who lost the role
/// or was disabled is refused, however long the access token is valid.
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
            try await accounts.roleOfActive(user.id)?.isVerbatim(role.name) == true
        else { throw Problem(.forbidden) }
        return try await next(request, context)
    }
}

/// Makes the audit log name the calling system, and the operator that the system states.
struct SystemScope: RouterMiddleware {
    typealias Context = GatehouseRequestContext

    /// In characters of the operator's name.
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
    /// Refuses a change by an operator who has not authenticated recently. Other systems have presented their
    /// credential.
    ///
    /// - Throws: `REAUTHENTICATION_REQUIRED`.
    func requireRecentOperator(_ age: AuthenticationAge) throws(Problem) {
        if let user { try age.require(user) }
    }
}

/// The audit log and figures, for operators.
struct AdminLogRoutes: Sendable {
    let audit: AuditStore
    let figures: FigureStore
    /// The names of all events.
    let events: Set<String>

    func add(to admin: AdminRouter) {
        admin.get("/audit", use: list)
        admin.get("/figures", use: count)
    }

    @Sendable private func list(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        func action(_ field: String) throws(Problem) -> String? {
            try request.queried(field) { text throws(Refusal) in
                guard events.contains(text) else { throw Refusal("There is no such action.") }
                return text
            }
        }
        let search = AuditSearch(
            userID: try request.queriedID("user"), event: try action("action"), exceptEvent: try action("except"),
            since: try request.queriedTime("since"), until: try request.queriedTime("until"))
        let cursor = try request.queried("after") { text throws(Refusal) in try AuditCursor(text) }
        let limit = try request.queriedLimit()
        let found = try await audit.search(search, after: cursor, limit: limit + 1)
        try await audit.noteViewing(of: search.userID, "audit")
        let shown = found.prefix(limit)
        let next = found.count > limit ? shown.last.map { AuditCursor(at: $0.at, id: $0.id).text } : nil
        return try .json(AdminAuditList(entries: shown.map(AdminAuditEntry.init), next: next))
    }

    /// Contains no personal data.
    @Sendable private func count(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        try await .json(figures.figures())
    }
}

extension AdminAuditEntry {
    fileprivate init(_ record: AuditRecord) {
        // A user's actor id is a UUID; every other actor has a name.
        let id = record.actorID.flatMap(UUID.init(uuidString:))?.path
        self.init(
            id: String(record.id), at: record.at, action: record.event,
            user: record.userID == AuditStore.noUser ? nil : record.userID.path,
            by: Actor(kind: record.actor, id: id, name: id == nil ? record.actorID : nil),
            address: record.origin?.address, client: record.origin?.userAgent, device: record.origin?.device,
            appVersion: record.origin?.appVersion, session: record.sessionID?.path, detail: record.detail,
            count: record.count == 1 ? nil : record.count)
    }
}

/// The query parameters of lists.
extension Request {
    static let defaultLimit = 50
    static let maximumLimit = 200

    /// A field of the query; `nil` where it is absent. An empty field is read like any other text.
    ///
    /// - Throws: `INVALID_REQUEST` naming the field.
    func queried<Value>(
        _ name: String, _ read: (String) throws(Refusal) -> Value
    ) throws(Problem) -> Value? {
        guard let text = uri.queryParameters.get(name) else { return nil }
        return try Problem.checking(name) { () throws(Refusal) in try read(text) }
    }

    /// The number of entries on a page.
    func queriedLimit() throws(Problem) -> Int {
        try queried("limit") { text throws(Refusal) in
            guard let limit = Int(text), (1...Self.maximumLimit).contains(limit) else {
                throw Refusal("Want a number from 1 to \(Self.maximumLimit).")
            }
            return limit
        } ?? Self.defaultLimit
    }

    func queriedTime(_ name: String) throws(Problem) -> Date? {
        try queried(name) { text throws(Refusal) in
            guard let time = Date(accepting: text) else {
                throw Refusal("Want a time like 2026-11-20T12:00:00Z, of the years 1970 to 9999.")
            }
            return time
        }
    }

    func queriedID(_ name: String) throws(Problem) -> UUID? {
        try queried(name) { text throws(Refusal) in
            guard let id = UUID(uuidString: text) else { throw Refusal("Want an id.") }
            return id
        }
    }
}
