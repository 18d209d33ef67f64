public import GatehouseService

/// What the service is told from outside. A setting of yours is read here: `settings.string("greeting")` is
/// `ORDERS_GREETING`.
public struct OrdersConfiguration: Sendable {
    /// `ORDERS_GATEWAY_CREDENTIALS`: what the gateway shows; two while one is replaced.
    public var credentials: CallerCredentials

    init(settings: Settings) {
        credentials = settings.credentials(ofCallers: "gateway")
    }
}
