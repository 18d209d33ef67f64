import ArgumentParser
import Foundation
import GatehouseClient

/// What every command understands.
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

    /// Runs a command, and tells on standard error why it could not do what it was asked for.
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
            // ArgumentParser's own, which it prints itself.
            default: throw error
            }
            if json, let document = try? failure.json {
                console.complain(document + Data("\n".utf8))
            } else {
                console.complain(failure.text)
            }
            throw ExitCode(failure.status.number)
        }
    }

    private func name(in environment: [String: String]) throws(CommandFailure) -> ProfileName {
        if let profile { return profile }
        guard let text = environment["GATEHOUSE_PROFILE"], !text.isEmpty else { return .standard }
        guard let name = ProfileName(argument: text) else {
            throw CommandFailure(.usage, "GATEHOUSE_PROFILE is no name of a profile.")
        }
        return name
    }
}
