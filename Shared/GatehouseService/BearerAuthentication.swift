import GatehouseServiceContracts
public import GatehouseServiceKit
import HTTPTypes
public import Hummingbird
public import HummingbirdCore

/// Middleware for routes that clients reach without the gateway. It verifies the access token in `Authorization`
/// (RFC 6750 §2.1), and sets ``GatehouseRequestContext/user`` for the route.
///
/// The gateway has already verified a request with its credential. Such a request passes unchanged, so a service may be
/// reached both ways.
public struct BearerAuthentication: RouterMiddleware {
    public typealias Context = GatehouseRequestContext

    private let verifier: any BearerVerifier
    private let isRequired: Bool

    /// - Parameter isRequired: whether a request without a token is refused. An invalid token is always refused.
    public init(_ verifier: any BearerVerifier, isRequired: Bool = true) {
        self.verifier = verifier
        self.isRequired = isRequired
    }

    public func handle(
        _ request: Request, context: GatehouseRequestContext,
        next: (Request, GatehouseRequestContext) async throws -> Response
    ) async throws -> Response {
        guard !context.isFromGateway else { return try await next(request, context) }
        let fields = request.headers[values: .authorization]
        guard !fields.isEmpty || isRequired else { return try await next(request, context) }
        guard fields.count == 1, let token = Self.bearer(fields[0]) else { throw Problem(.invalidToken) }
        var context = context
        context.user = try await verifier.user(of: token)
        return try await next(request, context)
    }

    /// The token; `nil` for another scheme. The scheme's name is case-insensitive (RFC 9110 §11.1).
    static func bearer(_ field: String) -> String? {
        let parts = field.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
        guard parts.count == 2, parts[0].elementsEqual("bearer".utf8, by: { $0 | 0x20 == $1 }) else { return nil }
        return String(parts[1].drop { $0 == UInt8(ascii: " ") })
    }
}
