import ArgumentParser
import Foundation
import GatehouseClient
import GatehouseServiceContracts

/// The options of every command.
struct CommonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The profile; without it GATEHOUSE_PROFILE, or \"default\".", valueName: "name"),
        completion: .custom { _, _, _ in
            let names = try? ProfilesFolder(environment: Console.current.environment).names()
            return (names ?? []).map(\.description)
        })
    var profile: ProfileName?

    @Flag(help: "Print JSON, for scripts; errors too.")
    var json = false

    /// Runs a command and prints a failure on standard error.
    func run(_ body: (Invocation) async throws -> Void) async throws {
        let console = Console.current
        do {
            let invocation = try Invocation(
                console: console, name: name(in: console.environment), isForScripts: json)
            let result: Result<Void, any Error>
            do { result = .success(try await body(invocation)) } catch { result = .failure(error) }
            await invocation.settle()
            try result.get()
        } catch {
            let failure: CommandFailure
            switch error {
            case let error as CommandFailure: failure = error
            case let error as GatehouseError: failure = CommandFailure(error)
            // ArgumentParser prints its own errors.
            default: throw error
            }
            if json, let document = try? failure.json {
                console.writeError(document + Data("\n".utf8))
            } else {
                console.printError(failure.text)
            }
            throw ExitCode(failure.status.number)
        }
    }

    private func name(in environment: [String: String]) throws(CommandFailure) -> ProfileName {
        if let profile { return profile }
        guard let text = environment["GATEHOUSE_PROFILE"], !text.isEmpty else { return .standard }
        guard let name = ProfileName(argument: text) else {
            throw CommandFailure(.usage, "GATEHOUSE_PROFILE is not a valid profile name.")
        }
        return name
    }
}

/// The server of a sign-in. A profile keeps its server: tokens of one server are never sent to another.
struct ServerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The gateway's address, https://…; needed once for each profile. Without it GATEHOUSE_URL.",
            valueName: "address"),
        transform: ServerOptions.address)
    var url: URL?

    /// Signs in to the profile's server. If the sign-in fails, a profile that this run has created is removed.
    ///
    /// - Parameter ask: asks the user for credentials, after the server is known.
    func signIn<Answer>(
        _ invocation: Invocation, asking ask: () async throws -> Answer,
        _ body: (GatehouseClient, Answer) async throws -> GatehouseClient.User
    ) async throws {
        let known = try await invocation.profiles.load(invocation.name)
        let profile = try profile(known, invocation)
        // Fails before anything is written if tokens may not be sent to this URL.
        let client = try await invocation.client(of: profile, named: invocation.name)
        let answer = try await ask()
        if known == nil { try await invocation.profiles.save(profile, as: invocation.name) }
        do {
            let user = try await body(client, answer)
            try invocation.show(
                user,
                "Signed in to \(profile.url.absoluteString) as \(Report.name(of: user)), profile \(invocation.name).")
        } catch {
            if known == nil { try? invocation.profiles.remove(invocation.name) }
            throw error
        }
    }

    private func profile(_ known: Profile?, _ invocation: Invocation) throws(CommandFailure) -> Profile {
        if let known {
            guard url.map({ Profile.folded($0) == known.url }) ?? true else {
                throw CommandFailure(
                    .usage, "The profile \(invocation.name) belongs to \(known.url.absoluteString).",
                    details: [
                        "Take another one with --profile NAME, or: gatehouse profiles remove \(invocation.name)"
                    ])
            }
            return known
        }
        if let url { return Profile(url: url) }
        if let text = invocation.console.environment["GATEHOUSE_URL"], !text.isEmpty {
            guard let url = try? Self.address(text) else {
                throw CommandFailure(.usage, "GATEHOUSE_URL is not a valid address: it must begin with https://")
            }
            return Profile(url: url)
        }
        throw CommandFailure(
            .notConfigured, "The profile \(invocation.name) has no server yet.",
            details: ["Name it once: --url https://…"], code: "noProfile")
    }

    @Sendable static func address(_ text: String) throws -> URL {
        guard let url = URL(string: text), url.host?.isEmpty == false,
            ["https", "http"].contains(url.scheme?.lowercased() ?? ""), url.query == nil, url.fragment == nil
        else { throw ValidationError("'\(text)' is not a valid address: it must begin with https://") }
        return url
    }
}

/// One run of a command with its profile.
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

    /// - Parameter isOnline: `false` reads the stored session without contacting the server.
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

    /// Waits for work that would be lost if the process ended.
    func settle() async { await clients.settle() }

    /// Prints a result: `text` for a user, `value` for a script.
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

private struct NeverOnline: GatehouseConnectivity {
    var isOnline: Bool { false }
    var changes: AsyncStream<Bool> { AsyncStream { $0.finish() } }
}
