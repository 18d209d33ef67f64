import Foundation
import GatehouseClient

/// One run of a command, with the profile that it is about.
struct Invocation: Sendable {
    let console: Console
    let name: ProfileName
    let isForScripts: Bool

    var profiles: ProfilesFolder { ProfilesFolder(environment: console.environment) }
    var report: Report { Report(timeZone: console.timeZone) }

    /// The profile's client.
    func client() async throws -> GatehouseClient {
        guard let profile = try await profiles.load(name) else {
            throw CommandFailure(
                .notConfigured, "The profile \(name) has no server yet.",
                details: ["Sign in with: gatehouse login --url https://…"], code: "noProfile")
        }
        return try client(of: profile, named: name)
    }

    /// - Parameter isOnline: `false` reads what is stored and asks no server.
    func client(
        of profile: Profile, named name: ProfileName, isOnline: Bool = true
    ) throws(GatehouseError) -> GatehouseClient {
        try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: profile.url, store: profiles.sessionStore(of: name), transport: console.transport,
                connectivity: isOnline ? AlwaysOnline() : NeverOnline(), clock: console.clock,
                device: SessionDevice(
                    installationId: Report.text(profile.installationID),
                    name: String(ProcessInfo.processInfo.hostName.prefix(64)), model: "gatehouse (command line)"),
                checksAtLaunch: false))
    }

    /// Prints a result: `text` for a person, `value` for a script.
    func show(_ value: some Encodable, _ text: String) throws {
        if isForScripts {
            console.write(try JSON.encode(value) + Data("\n".utf8))
        } else {
            console.print(text)
        }
    }
}

private struct NeverOnline: Connectivity {
    var isOnline: Bool { false }
    var changes: AsyncStream<Bool> { AsyncStream { $0.finish() } }
}
