public import GatehouseService

/// Puts the service's parts together. How it is started and stopped, its settings, logs, metrics and health are those of
/// Gatehouse's own services.
public enum OrdersApplication: ServiceApplication {
    public static let name = "orders"
    public static let defaultPort = 9000

    public static func configuration(from settings: Settings) -> OrdersConfiguration {
        OrdersConfiguration(settings: settings)
    }

    public static func build(_ configuration: OrdersConfiguration, boot: ServiceBoot) async throws -> ServiceAssembly {
        let router = ServiceRouter()
        OrdersRoutes(store: ItemStore()).add(to: router)
        // A database is one of `services`, and `readiness` asks whether it is there.
        return ServiceAssembly(
            router: router, credentials: configuration.credentials, endsAtDeadline: true, boot: boot)
    }
}
