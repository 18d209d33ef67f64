public import GatehouseService

/// The settings of the service. Read yours here: `settings.string("greeting")` reads `ORDERS_GREETING`.
public struct OrdersConfiguration: Sendable {
    /// `ORDERS_GATEWAY_CREDENTIALS`: the gateway's credential; two while it is being replaced.
    public var credentials: CallerCredentials

    init(settings: Settings) {
        credentials = settings.credentials(ofCallers: "gateway")
    }
}
