import Contracts
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import Observability
import Settings

/// The answers of `/livez` and `/readyz`.
enum HealthResponse {
    /// The process answers; nothing else is asked.
    static func live() throws -> Response { try response(ServiceHealth(status: "ok")) }

    /// Requests are welcome, and which process says so: whoever looks after replicas sees which version each has.
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
