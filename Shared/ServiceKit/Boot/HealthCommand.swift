public import ArgumentParser
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Settings

/// `<service> health`: whether the service that runs with these settings is ready. For an image's health check: there
/// need be no shell and no curl in it.
public struct HealthCommand<Application: ServiceApplication>: AsyncParsableCommand {
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "health", abstract: "Ask \(Application.name) on its admin port whether it is ready.",
            discussion: "Ends with 0 if it is, and otherwise says why it is not. It is given two seconds.")
    }

    public init() {}

    public func run() async throws {
        let settings = Settings(service: Application.name, environment: ProcessInfo.processInfo.environment)
        let address = ServiceConfiguration<Application>.adminListenAddress(from: settings)
        do {
            try settings.finish(allowingUnknown: true)
        } catch {
            throw CommandError.wrongConfiguration(error)
        }
        do {
            let (isReady, said) = try await Self.ask(address.ofThisMachine)
            guard isReady else { throw NotReady(description: said) }
        } catch {
            throw CommandError.failure(Application.name, error)
        }
    }

    private static func ask(_ address: ListenAddress) async throws -> (isReady: Bool, said: String) {
        let response = try await HTTPClient.shared.execute(
            HTTPClientRequest(url: "http://\(address)/readyz"), timeout: .seconds(2))
        let body = try await response.body.collect(upTo: 65_536)
        return (response.status == .ok, String(buffer: body))
    }
}

private struct NotReady: Error, CustomStringConvertible {
    var description: String
}

extension ListenAddress {
    /// Where this machine reaches what listens here: a wildcard address is none to connect to.
    var ofThisMachine: ListenAddress {
        switch host {
        case "0.0.0.0": ListenAddress(host: "127.0.0.1", port: port)
        case "::": ListenAddress(host: "::1", port: port)
        default: self
        }
    }
}
