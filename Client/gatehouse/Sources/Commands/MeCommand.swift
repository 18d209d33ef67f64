import ArgumentParser
import GatehouseClient

struct MeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "me", abstract: "Show who is signed in.")

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { invocation in
            let user = try await invocation.client().me()
            try invocation.show(user, invocation.report.user(user))
        }
    }
}
