import Contracts
public import HTTPTypes
public import Hummingbird
public import HummingbirdCore

/// The routes of one service.
///
/// Public routes are registered under `/v1` and stand under `/api/v1` as well. A known path answers a wrong method
/// with 405 and `Allow`. Use `get`, `post` and the like as on Hummingbird's router; `{name}` in a path captures a
/// segment.
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

    /// GET, and HEAD for the same without the body (RFC 9110 §9.3.2), which the pipeline takes off.
    public func getOrHead(
        _ path: RouterPath, use handler: @Sendable @escaping (Request, Context) async throws -> Response
    ) {
        get(path, use: handler)
        head(path, use: handler)
    }

    /// Routes below `/internal`, open to the named callers alone; anyone else is told `FORBIDDEN`.
    public func `internal`(callers: String...) -> RouterGroup<GatehouseRequestContext> {
        group("/internal").add(middleware: InternalAuthentication(callers: Set(callers)))
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
