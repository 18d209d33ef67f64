import Foundation
import GatehouseClient

/// One run of a command, with the profile that it is about.
struct Invocation: Sendable {
    let console: Console
    let name: ProfileName
    let isForScripts: Bool
    private let clients = OpenClients()

    init(console: Console, name: ProfileName, isForScripts: Bool) {
        self.console = console
        self.name = name
        self.isForScripts = isForScripts
    }

    var profiles: ProfilesFolder { ProfilesFolder(environment: console.environment) }
    var report: Report { Report(timeZone: console.timeZone) }

    /// The profile's client.
    func client() async throws -> GatehouseClient {
        guard let profile = try await profiles.load(name) else {
            throw CommandFailure(
                .notConfigured, "The profile \(name) has no server yet.",
                details: ["Sign in with: gatehouse login --url https://…"], code: "noProfile")
        }
        return try await client(of: profile, named: name)
    }

    /// - Parameter isOnline: `false` reads what is stored and asks no server.
    func client(
        of profile: Profile, named name: ProfileName, isOnline: Bool = true
    ) async throws(GatehouseError) -> GatehouseClient {
        let client = try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: profile.url, store: profiles.sessionStore(of: name), transport: console.transport,
                connectivity: isOnline ? AlwaysOnline() : NeverOnline(), clock: console.clock,
                device: SessionDevice(
                    installationId: Report.text(profile.installationID),
                    name: String(ProcessInfo.processInfo.hostName.prefix(64)), model: "gatehouse (command line)"),
                checksAtLaunch: false))
        await clients.add(client)
        return client
    }

    /// Waits until nothing is under way that would be lost with the process.
    func settle() async { await clients.settle() }

    /// Prints a result: `text` for a person, `value` for a script.
    func show(_ value: some Encodable, _ text: String) throws {
        if isForScripts {
            console.write(try JSON.encode(value) + Data("\n".utf8))
        } else {
            console.print(text)
        }
    }
}

private actor OpenClients {
    private var clients: [GatehouseClient] = []

    func add(_ client: GatehouseClient) { clients.append(client) }

    func settle() async { for client in clients { await client.session.settle() } }
}

private struct NeverOnline: Connectivity {
    var isOnline: Bool { false }
    var changes: AsyncStream<Bool> { AsyncStream { $0.finish() } }
}
