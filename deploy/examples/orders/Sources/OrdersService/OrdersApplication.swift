public import GatehouseService

/// Wires the service's parts. Its start and stop, settings, logs, metrics and health are those of Gatehouse's own
/// services.
public enum OrdersApplication: ServiceApplication {
    public static let name = "orders"
    public static let defaultPort = 9000

    public static func configuration(from settings: Settings) -> OrdersConfiguration {
        OrdersConfiguration(settings: settings)
    }

    public static func build(_ configuration: OrdersConfiguration, boot: ServiceBoot) async throws -> ServiceAssembly {
        let router = ServiceRouter()
        OrdersRoutes(store: ItemStore()).add(to: router)
        // A database would be one of `services`, with a check of its connection in `readiness`.
        return ServiceAssembly(
            router: router, credentials: configuration.credentials, endsAtDeadline: true, boot: boot)
    }
}
