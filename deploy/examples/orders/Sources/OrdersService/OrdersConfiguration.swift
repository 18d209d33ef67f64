public import GatehouseService

/// The settings of the service. Read yours here: `settings.string("greeting", "how users are greeted")` reads
/// `ORDERS_GREETING`, and `orders describe` prints the text.
public struct OrdersConfiguration: Sendable {
    /// `ORDERS_GATEWAY_CREDENTIALS`: the gateway's credential; two while it is being replaced.
    public var credentials: CallerCredentials

    init(settings: Settings) {
        credentials = settings.credentials(ofCallers: "gateway")
    }
}
