import Hummingbird
import HummingbirdCore
import GatehouseServiceKit
import GatehouseSettings
import Tracing

/// A team's service with spans of its own.
enum ParcelsApplication: ServiceApplication {
    struct AddressUnknown: Error {}

    static let name = "parcels"
    static let defaultPort = 9001

    static func configuration(from settings: Settings) -> CallerCredentials {
        settings.credentials(ofCallers: "gateway")
    }

    static func build(_ credentials: CallerCredentials, boot: ServiceBoot) async throws -> ServiceAssembly {
        let router = ServiceRouter()
        router.get("/v1/parcels") { _, _ -> Response in
            try await withSpan("weigh parcels", ofKind: .producer) { span in
                span.attributes["parcels.count"] = 3
                span.attributes["parcels.weights"] = SpanAttribute.doubleArray([0.5, 12])
                span.attributes["parcels.token"] = "hush"
                try await withSpan("print labels") { _ in try await Task.sleep(for: .milliseconds(1)) }
            }
            return Response.empty(.ok)
        }
        router.get("/v1/lost") { _, _ -> Response in
            try withSpan("find address") { _ -> Response in throw AddressUnknown() }
        }
        return ServiceAssembly(router: router, credentials: credentials, boot: boot)
    }
}
