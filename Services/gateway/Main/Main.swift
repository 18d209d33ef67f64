import ArgumentParser
import GatehouseServiceKit
import GatehouseSettings

@main
struct Main: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gateway",
        abstract: "Gatehouse's public edge: verifies access tokens, routes and limits requests, forwards identity.",
        version: GatehouseVersion.description(),
        subcommands: [
            ServeCommand<GatewayApplication>.self, CheckConfig.self, DescribeCommand<GatewayApplication>.self,
            HealthCommand<GatewayApplication>.self,
            DoctorCommand<GatewayApplication>.self,
        ])
}

/// `gateway check-config`: verifies the settings like every service's command, and prints the resulting routes.
struct CheckConfig: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config", abstract: "Check the settings and the routes without running the gateway.")

    func run() async throws {
        let configuration = try ServiceConfiguration<GatewayApplication>.loadOrExit()
        print(configuration.application.routeTable)
        print("The settings of gateway are valid (\(configuration.environment.rawValue)).")
    }
}
