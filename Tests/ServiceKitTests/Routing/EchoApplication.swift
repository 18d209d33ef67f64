import Foundation
import GatehouseLimits
import GatehouseObservability
import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseSettings
import Hummingbird
import HummingbirdCore

/// A small service with one route of every kind.
struct EchoApplication: ServiceApplication {
    struct Configuration: Sendable {
        var credentials: CallerCredentials
        var greeting: String
    }

    struct Echo: Codable, Sendable, Equatable {
        var text: String
        var count: Int?
    }

    struct Seen: Codable, Sendable {
        var requestID: String
        var traceID: String
        /// Whether callees are told that the trace is recorded.
        var isSampled: Bool
        var caller: String?
        var userID: UUID?
        var stores: [String]?
        var address: String
        /// Until the deadline; 0 where the current deadline is not the context's.
        var milliseconds: Int64
        /// Milliseconds since the request came.
        var age: Int64
    }

    static let name = "echo"
    static let defaultPort = 8099

    static func configuration(from settings: Settings) -> Configuration {
        Configuration(
            credentials: settings.credentials(ofCallers: "gateway", "identity"),
            greeting: settings.string("greeting", default: "hello"))
    }

    static func build(_ configuration: Configuration, boot: ServiceBoot) async throws -> ServiceAssembly {
        let router = ServiceRouter()
        router.post("/v1/echo") { request, _ in
            try Response.json(try await request.decode(Echo.self), status: .created, holdsToken: true)
        }
        router.get("/v1/echo/{id}") { _, context in
            try Response.json(["id": try context.uuid("id")])
        }
        router.get("/v1/me") { _, context in
            try Response.json(["id": try context.requireUser().id])
        }
        router.get("/v1/seen") { _, context in try Response.json(seen(context)) }
        router.get("/v1/fail") { _, _ -> Response in throw UnforeseenError() }
        router.get("/v1/away") { _, _ -> Response in throw Problem(.unavailable, retryAfter: 7) }
        router.get("/v1/slow") { _, _ -> Response in
            try await Task.sleep(for: .milliseconds(300))
            return Response.empty(.ok)
        }
        router.post("/oauth/form") { request, _ in try Response.json(try await request.decodeForm().dictionary) }
        router.internal(callers: "identity").post("/things") { _, context in try Response.json(seen(context)) }
        return ServiceAssembly(
            router: router, credentials: configuration.credentials,
            admin: [AdminPortRoute("/page", contentType: "text/html") { Array("<p>".utf8) }], boot: boot)
    }

    private static func seen(_ context: GatehouseRequestContext) -> Seen {
        func milliseconds(_ duration: Duration) -> Int64 { Int64(duration / .milliseconds(1)) }
        return Seen(
            requestID: context.requestID, traceID: context.trace.traceID, isSampled: context.trace.isSampled,
            caller: context.caller, userID: context.user?.id, stores: context.user?.storeIDs,
            address: context.clientAddress,
            milliseconds: Deadline.current == context.deadline ? milliseconds(context.deadline.remaining) : 0,
            age: milliseconds(context.arrivedAt.duration(to: .now)))
    }
}

struct UnforeseenError: Error {}

let echoSettings = [
    "ECHO_GATEWAY_CREDENTIALS": "dev-gateway-echo", "ECHO_IDENTITY_CREDENTIALS": "dev-identity-one,dev-identity-two",
]
