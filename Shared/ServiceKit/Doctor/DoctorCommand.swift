public import ArgumentParser
import AsyncHTTPClient
import Foundation
import NIOPosix
import Settings

/// `<service> doctor`: looks at the installation with the service's own settings and says what is wrong.
public struct DoctorCommand<Application: ExaminedApplication>: AsyncParsableCommand {
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "doctor", abstract: "Look at what \(Application.name) depends on, and say what is wrong.",
            discussion: """
                Run it where the service runs, with its settings. It changes nothing. Ends with 0 where there is no \
                problem; a warning is none.
                """)
    }

    public init() {}

    public func run() async throws {
        let findings = await Self.findings()
        print("\(Application.name) \(GatehouseVersion.description())")
        for finding in findings { print(finding.lines) }
        if findings.contains(where: { $0.severity == .problem }) { throw ExitCode.failure }
    }

    private static func findings() async -> [Finding] {
        let configuration: ServiceConfiguration<Application>
        do throws(SettingsError) {
            configuration = try .load()
        } catch {
            return error.problems.map {
                .problem(
                    "\($0.name) \($0.message).", remedy: "Correct the setting: the service does not start with it.")
            }
        }
        let client = HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: .gatehouse())
        let examination = Examination(httpClient: client, eventLoopGroup: MultiThreadedEventLoopGroup.singleton)
        var findings = [
            Finding.fine("The settings are valid (\(configuration.environment.rawValue))."),
            DescriptorFinding.finding(limit: FileDescriptors.raiseLimit()),
        ]
        findings += await Self.readiness(at: configuration.adminListenAddress.ofThisMachine, examination)
        findings += await Application.examine(configuration.application, examination)
        try? await client.shutdown()
        return findings
    }

    /// Whether the service itself runs here and is ready.
    private static func readiness(at address: ListenAddress, _ examination: Examination) async -> [Finding] {
        let name = Application.name
        do {
            let reply = try await examination.ask("http://\(address)/readyz")
            if reply.status == 200 { return [.fine("\(name) runs here and is ready.")] }
            return [
                .problem(
                    "\(name) runs here and is not ready\(Examination.reasons(reply.body)).",
                    remedy: "The lines below, and its log, tell why.")
            ]
        } catch {
            return [
                .warning(
                    "\(name) does not answer on its admin port here (\(address)).",
                    remedy: "Start it, or run this where it runs.")
            ]
        }
    }
}
