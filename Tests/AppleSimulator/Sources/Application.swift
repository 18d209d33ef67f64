public import GatehouseServiceKit
public import GatehouseSettings
import Logging

/// The parts of Apple that Gatehouse uses: its sign-in endpoints and its push service, for development and tests.
public struct AppleSimulatorApplication: ServiceApplication {
    public static let name = "apple-simulator"
    public static let defaultPort = 8084

    public static func configuration(from settings: Settings) -> AppleSimulatorConfiguration {
        AppleSimulatorConfiguration(settings)
    }

    public static func build(
        _ configuration: AppleSimulatorConfiguration, boot: ServiceBoot
    ) async throws -> ServiceAssembly {
        let accounts = AppleAccounts(
            keys: try await SigningKeys(), clientSecret: try ClientSecret(privateKey: configuration.clientKey),
            audience: configuration.audience,
            issuer: configuration.issuer)
        let fault = Fault()
        let log = RequestLog()
        let simulation =
            try configuration.apnsLogFile.map { try APNsSimulation(log: log, logFile: $0) }
            ?? APNsSimulation(log: log)
        if let pem = configuration.apnsKey {
            simulation.register(
                try ProviderKey(pem: pem), team: configuration.apnsTeam, identifier: configuration.apnsKeyIdentifier)
        }
        let apns = try await APNsServer(
            host: configuration.apnsListenAddress.host, port: configuration.apnsListenAddress.port,
            certificate: configuration.apnsCertificate, simulation: simulation, eventLoopGroup: boot.eventLoopGroup)
        boot.logger.info("APNs listens", metadata: ["port": "\(apns.port)"])

        let router = ServiceRouter()
        AppleRoutes(accounts: accounts, fault: fault, log: log).add(to: router)
        SimulatorRoutes(accounts: accounts, fault: fault, log: log).add(to: router)
        APNsRoutes(simulation: simulation, port: apns.port).add(to: router)
        return ServiceAssembly(services: [apns], router: router, boot: boot)
    }
}
