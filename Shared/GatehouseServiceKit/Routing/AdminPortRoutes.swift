import Foundation
import GatehouseObservability
import GatehouseServiceContracts
import GatehouseSettings
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore

/// The routes of the admin port: `/metrics`, `/livez`, `/readyz`, and the service's own.
enum AdminPortRoutes {
    static func make(readiness: Readiness, metrics: PrometheusRegistry, own: [AdminPortRoute]) -> ServiceRouter {
        let router = ServiceRouter()
        addHealth(to: router, readiness: readiness)
        router.getOrHead("/metrics") { _, _ in
            var headers = HTTPFields()
            headers[.contentType] = "text/plain; version=0.0.4; charset=utf-8"
            return Response(
                status: .ok, headers: headers,
                body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.exposition())))
        }
        for route in own { add(route, to: router) }
        return router
    }

    private static func add(_ route: AdminPortRoute, to router: ServiceRouter) {
        router.getOrHead(RouterPath(route.path)) { _, _ in
            var headers: HTTPFields = [
                .contentType: route.contentType, .cacheControl: "no-store", .contentSecurityPolicy: route.policy,
            ]
            headers[.xContentTypeOptions] = "nosniff"
            return Response(
                status: .ok, headers: headers,
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: try await route.body())))
        }
    }

    static func addHealth(to router: ServiceRouter, readiness: Readiness) {
        router.getOrHead("/livez") { _, _ in try HealthResponse.live() }
        router.getOrHead("/readyz") { _, _ in try HealthResponse.ready(readiness) }
    }
}

/// A service's own route on the admin port: GET and HEAD.
public struct AdminPortRoute: Sendable {
    let path: String
    let contentType: String
    let policy: String
    let body: @Sendable () async throws -> [UInt8]

    /// - Parameters:
    ///   - path: from the root.
    ///   - policy: `Content-Security-Policy`.
    ///   - body: called for each request.
    public init(
        _ path: String, contentType: String, policy: String = "default-src 'none'; frame-ancestors 'none'",
        body: @escaping @Sendable () async throws -> [UInt8]
    ) {
        self.path = path
        self.contentType = contentType
        self.policy = policy
        self.body = body
    }
}

/// The responses of `/livez` and `/readyz`.
enum HealthResponse {
    /// Confirms that the process responds. It checks nothing else.
    static func live() throws -> Response { try response(ServiceHealth(status: "ok")) }

    /// Confirms that the process is ready. The response contains the version, so that an operator sees the version of
    /// each replica.
    static func ready(_ readiness: Readiness) throws -> Response {
        let failing = readiness.failing
        guard failing.isEmpty else {
            throw Problem(.unavailable, errors: failing.map { .init(field: $0, message: "This is not ready.") })
        }
        return try response(
            ServiceHealth(
                status: "ready", version: GatehouseVersion.number, revision: GatehouseVersion.revision(),
                startedAt: Telemetry.startedAt))
    }

    private static func response(_ health: ServiceHealth) throws -> Response {
        try .json(health, holdsToken: true)
    }
}
