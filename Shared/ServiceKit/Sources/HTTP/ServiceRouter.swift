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

    /// Routes below `/internal`, open to the named callers alone; anyone else is told `FORBIDDEN`.
    public func `internal`(callers: String...) -> RouterGroup<GatehouseRequestContext> {
        group("/internal").add(middleware: InternalAuthentication(callers: Set(callers)))
    }

    func makeResponder() -> RoutingResponder {
        for (path, allowed) in methods {
            let allow = allowed.sorted().joined(separator: ", ")
            router.on(RouterPath(path), method: RoutingResponder.anyMethod) { _, _ -> Response in
                throw MethodNotAllowed(allow: allow)
            }
        }
        return RoutingResponder(routes: router.buildResponder(), methods: methods)
    }

    private func register(
        _ path: RouterPath, _ method: HTTPRequest.Method, _ responder: some HTTPResponder<GatehouseRequestContext>
    ) {
        methods[path.description, default: []].insert(method.rawValue)
        router.on(path, method: method, responder: responder)
    }
}

/// Finds the route of a request; tells an unknown path from a wrong method.
struct RoutingResponder: HTTPResponder {
    /// Under this method every path answers that another method was wanted.
    static let anyMethod = HTTPRequest.Method("ANY-METHOD")!
    static let notFoundRoute = "NotFound"

    let routes: RouterResponder<GatehouseRequestContext>
    /// The registered methods by path template.
    let methods: [String: Set<String>]

    func respond(to request: Request, context: GatehouseRequestContext) async throws -> Response {
        let path = request.uri.path
        guard Self.isSpelledInTheOneWay(path) else { throw Problem(.notFound) }
        let response = try await routes.respond(to: request, context: context)
        guard response.status == .notFound, context.coreContext.endpointPath.value == Self.notFoundRoute else {
            return response
        }
        guard request.method != Self.anyMethod else { throw Problem(.notFound) }
        var head = request.head
        head.method = Self.anyMethod
        return try await respond(to: Request(head: head, body: request.body), context: context)
    }
}

extension RoutingResponder {
    /// Hummingbird's router reads `//a/` as `/a`, and compares names by Unicode's equivalence, which takes long where
    /// somebody wants it to; ours are ASCII (RFC 3986 §2) and spelled in one way only.
    static func isSpelledInTheOneWay(_ path: String) -> Bool {
        var last: UInt8?
        for byte in path.utf8 {
            guard byte < 0x80, byte != UInt8(ascii: "/") || last != byte else { return false }
            last = byte
        }
        return last != UInt8(ascii: "/") || path.utf8.count == 1
    }
}

/// A known path was asked with a method that it does not have.
struct MethodNotAllowed: Error {
    let allow: String
}

/// Lets in only requests that show the credential of one of the callers.
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
