import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import Observability

/// What a service answers on its admin port: `/metrics`, `/livez`, `/readyz`, and what is its own.
enum AdminRoutes {
    static func make(readiness: Readiness, metrics: PrometheusRegistry, own: [AdminRoute]) -> ServiceRouter {
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

    private static func add(_ route: AdminRoute, to router: ServiceRouter) {
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
