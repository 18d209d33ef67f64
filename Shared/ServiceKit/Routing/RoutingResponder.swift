import Contracts
import HTTPTypes
import Hummingbird
import HummingbirdCore

/// Finds the route of a request; tells an unknown path from a wrong method.
struct RoutingResponder: HTTPResponder {
    static let notFoundRoute = "NotFound"

    let routes: RouterResponder<GatehouseRequestContext>
    /// Every path of ``routes`` under GET: each answers that another method was wanted. Hummingbird's router looks for
    /// path and method at once and does not say which of them it has not found.
    let paths: RouterResponder<GatehouseRequestContext>
    /// The registered methods by path template.
    let methods: [String: Set<String>]

    func respond(to request: Request, context: GatehouseRequestContext) async throws -> Response {
        guard Self.isSpelledInTheOneWay(request.uri.path) else { throw Problem(.notFound) }
        let response = try await routes.respond(to: request, context: context)
        guard isNotFound(response, context) else { return response }
        var head = request.head
        head.method = .get
        let answer = try await paths.respond(to: Request(head: head, body: request.body), context: context)
        guard !isNotFound(answer, context) else { throw Problem(.notFound) }
        return answer
    }

    /// Has the context know the route of a request that is not to be acted on.
    func find(_ request: Request, context: GatehouseRequestContext) async {
        guard Self.isSpelledInTheOneWay(request.uri.path) else { return }
        var head = request.head
        head.method = .get
        _ = try? await paths.respond(to: Request(head: head, body: request.body), context: context)
    }

    /// Whether the router has found nothing; a route's own 404 has the route's path.
    private func isNotFound(_ response: Response, _ context: GatehouseRequestContext) -> Bool {
        response.status == .notFound && context.coreContext.endpointPath.value == Self.notFoundRoute
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
