import GatehouseService
import OrdersService

/// `orders serve`, `orders check-config`, `orders describe`, `orders health`
@main
struct Orders: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "orders", abstract: "A service behind Gatehouse's gateway.",
        subcommands: [
            ServeCommand<OrdersApplication>.self, CheckConfigCommand<OrdersApplication>.self,
            DescribeCommand<OrdersApplication>.self, HealthCommand<OrdersApplication>.self,
        ])
}
