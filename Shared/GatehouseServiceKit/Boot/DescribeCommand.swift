public import ArgumentParser
import Foundation
import GatehouseInstruments
import GatehouseObservability
package import GatehouseSettings
import Logging

/// `<service> describe`: prints the settings, metrics and routes. The reference pages are made from it.
public struct DescribeCommand<Application: ServiceApplication>: AsyncParsableCommand {
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "describe", abstract: "Print the settings, metrics and routes of \(Application.name).",
            discussion: "Needs no settings, no database and no network.")
    }

    @Flag(help: "Print JSON.")
    var json = false

    public init() {}

    public func run() async throws {
        let description = try await ServiceDescription(of: Application.self)
        print(json ? try description.json() : description.text)
    }
}

/// The settings that a service reads, the metrics that it declares, and the routes that it serves.
struct ServiceDescription: Encodable {
    struct Route: Encodable {
        let method: String
        let path: String
    }

    let service: String
    let version: String
    let settings: [SettingDeclaration]
    let metrics: [MetricDeclaration]
    /// The routes of the public port.
    let routes: [Route]

    /// Reads the settings where none is set, and builds the service from ``ServiceApplication/exampleSettings``, with
    /// placeholders for settings that are required. No service runs.
    init<Application: ServiceApplication>(of application: Application.Type) async throws {
        service = Application.name
        version = GatehouseVersion.number
        settings = ServiceConfiguration<Application>.declarations
        // Its first use makes swift-metrics record into it, so it precedes the service.
        let registry = Telemetry.metrics
        let example = try Settings(
            service: Application.name,
            environment: Application.exampleSettings.merging(["GATEHOUSE_TRACES_ENDPOINT": "http://localhost"]) { $1 })
        let process = ServiceProcess(
            try ServiceConfiguration<Application>.read(example).get(),
            logger: Logger(label: Application.name) { _ in SwiftLogNoOpLogHandler() })
        routes = try await process.describe().sorted { $0.key < $1.key }.flatMap { path, methods in
            methods.sorted().map { Route(method: $0, path: path) }
        }
        metrics = registry.declarations
    }

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    var text: String {
        let settings = settings.map {
            "\($0.name.variable)  \($0.isRequired ? "required" : $0.defaultText ?? "–")  \($0.meaning)"
        }
        let metrics = metrics.map { metric in
            let labels = metric.labels.isEmpty ? "" : "{\(metric.labels.joined(separator: ","))}"
            return "\(metric.name)\(labels)  \(metric.kind.rawValue)  \(metric.help)"
        }
        let routes = routes.map { "\($0.method) \($0.path)" }
        return [("Settings", settings), ("Metrics", metrics), ("Routes", routes)].map { title, lines in
            ([title] + lines).joined(separator: "\n  ")
        }.joined(separator: "\n\n")
    }
}

extension ServiceConfiguration {
    /// The service's settings by name.
    static var declarations: [SettingDeclaration] {
        let development = declarations(in: ["GATEHOUSE_ENVIRONMENT": "development"])
        return declarations(in: [:]).map { setting in
            var setting = setting
            let text = development.first { $0.name == setting.name }?.defaultText
            if text != setting.defaultText { setting.developmentDefault = text }
            return setting
        }.sorted { $0.name.variable < $1.name.variable }
    }

    /// The settings in the order in which they are read.
    package static func declarations(in environment: [String: String]) -> [SettingDeclaration] {
        let settings = Settings(service: Application.name, environment: environment)
        _ = read(settings)
        return settings.declarations
    }
}
