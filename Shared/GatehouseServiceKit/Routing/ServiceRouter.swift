import GatehouseServiceContracts
public import HTTPTypes
public import Hummingbird
public import HummingbirdCore

/// The routes of one service.
///
/// Public routes are registered under `/v1` and are also served under `/api/v1`. A known path answers a wrong method
/// with 405 and `Allow`. Use `get`, `post` and so on as on Hummingbird's router. `{name}` in a path captures a segment.
public final class ServiceRouter: RouterMethods {
    public typealias Context = GatehouseRequestContext

    private let router = Router(context: GatehouseRequestContext.self)
    private var methods: [String: Set<String>] = [:]

    public init() {}

    @discardableResult
    public func on<Responder: HTTPResponder>(
        _ path: RouterPath, method: HTTPRequest.Method, responder: Responder
    ) -> Self where Responder.Context == GatehouseRequestContext {
        register(path, method, responder)
        if path.description.hasPrefix(PublicRoute.basePath + "/") {
            register(RouterPath("/api" + path.description), method, responder)
        }
        return self
    }

    @discardableResult
    public func add(middleware: any MiddlewareProtocol<Request, Response, GatehouseRequestContext>) -> Self {
        router.add(middleware: middleware)
        return self
    }

    /// GET, and HEAD for the same response without the body (RFC 9110 §9.3.2), which the pipeline removes.
    public func getOrHead(
        _ path: RouterPath, use handler: @Sendable @escaping (Request, Context) async throws -> Response
    ) {
        get(path, use: handler)
        head(path, use: handler)
    }

    /// Routes below `/internal`, open only to the named callers. Any other caller gets `FORBIDDEN`.
    public func `internal`(callers: String...) -> RouterGroup<GatehouseRequestContext> {
        self.internal(callers: Set(callers))
    }

    /// The same for callers from a file.
    public func `internal`(callers: Set<String>) -> RouterGroup<GatehouseRequestContext> {
        group("/internal").add(middleware: InternalAuthentication(callers: callers))
    }

    func makeResponder() -> RoutingResponder {
        let paths = Router(context: GatehouseRequestContext.self)
        for (path, allowed) in methods {
            let allow = allowed.sorted().joined(separator: ", ")
            paths.get(RouterPath(path)) { _, _ -> Response in throw MethodNotAllowed(allow: allow) }
        }
        return RoutingResponder(routes: router.buildResponder(), paths: paths.buildResponder(), methods: methods)
    }

    private func register(
        _ path: RouterPath, _ method: HTTPRequest.Method, _ responder: some HTTPResponder<GatehouseRequestContext>
    ) {
        methods[path.description, default: []].insert(method.rawValue)
        router.on(path, method: method, responder: responder)
    }
}

/// Finds the route of a request, and distinguishes an unknown path from a wrong method.
struct RoutingResponder: HTTPResponder {
    static let notFoundRoute = "NotFound"

    let routes: RouterResponder<GatehouseRequestContext>
    /// Every path of ``routes`` under GET, with a handler that answers 405. Hummingbird's router matches path and
    /// method together, and does not report which of them is unknown.
    let paths: RouterResponder<GatehouseRequestContext>
    /// The registered methods by path template.
    let methods: [String: Set<String>]

    func respond(to request: Request, context: GatehouseRequestContext) async throws -> Response {
        guard Self.isCanonical(request.uri.path) else { throw Problem(.notFound) }
        let response = try await routes.respond(to: request, context: context)
        guard isNotFound(response, context) else { return response }
        var head = request.head
        head.method = .get
        let answer = try await paths.respond(to: Request(head: head, body: request.body), context: context)
        guard !isNotFound(answer, context) else { throw Problem(.notFound) }
        return answer
    }

    /// Sets the route in the context of a request that is refused without being handled, for the metric and the log.
    func noteRoute(of request: Request, in context: GatehouseRequestContext) async {
        guard Self.isCanonical(request.uri.path) else { return }
        var head = request.head
        head.method = .get
        _ = try? await paths.respond(to: Request(head: head, body: request.body), context: context)
    }

    /// Whether the router has found no route. A route's own 404 has the route's path.
    private func isNotFound(_ response: Response, _ context: GatehouseRequestContext) -> Bool {
        response.status == .notFound && context.coreContext.endpointPath.value == Self.notFoundRoute
    }
}

extension RoutingResponder {
    /// Hummingbird's router reads `//a/` as `/a`, and compares names by Unicode equivalence, which an attacker can make
    /// slow. Gatehouse's paths are ASCII (RFC 3986 §2) and have one spelling only.
    static func isCanonical(_ path: String) -> Bool {
        var last: UInt8?
        for byte in path.utf8 {
            guard byte < 0x80, byte != UInt8(ascii: "/") || last != byte else { return false }
            last = byte
        }
        return last != UInt8(ascii: "/") || path.utf8.count == 1
    }
}

/// A known path was requested with a method that it does not have.
struct MethodNotAllowed: Error {
    let allow: String
}

/// Allows only requests with the credential of one of the callers.
struct InternalAuthentication: RouterMiddleware {
    typealias Context = GatehouseRequestContext

    let callers: Set<String>

    func handle(
        _ request: Request, context: GatehouseRequestContext,
        next: (Request, GatehouseRequestContext) async throws -> Response
    ) async throws -> Response {
        guard let caller = context.caller, callers.contains(caller) else { throw Problem(.forbidden) }
        return try await next(request, context)
    }
}
