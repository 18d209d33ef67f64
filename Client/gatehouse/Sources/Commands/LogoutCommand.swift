import ArgumentParser
import GatehouseClient

struct LogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "End the profile's session, here and at the server.",
        discussion: "The profile stays, with its server. A logout that the server misses is sent with the next command."
    )

    @OptionGroup var common: CommonOptions

    @Flag(help: "End your sessions on all devices.")
    var everywhere = false

    func run() async throws {
        try await common.run { invocation in
            let client = try await invocation.client()
            if everywhere {
                try await client.signOutEverywhere()
            } else {
                try await client.signOut()
            }
            try invocation.show(Done(), everywhere ? "Signed out everywhere." : "Signed out.")
        }
    }

    private struct Done: Encodable {
        var signedIn = false
    }
}
