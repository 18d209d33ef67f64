import ArgumentParser
import Foundation
import GatehouseClient

struct ProfilesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profiles", abstract: "List the profiles, or remove one.",
        subcommands: [List.self, Remove.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the profiles without contacting their servers.")

        @OptionGroup var common: CommonOptions

        private struct Entry: Encodable {
            var name: String
            var url: String
            var selected: Bool
            /// Absent if no user is signed in.
            var user: GatehouseClient.User?
            /// Why the session's state is unknown.
            var problem: String?
        }

        private struct Document: Encodable {
            var profiles: [Entry]
        }

        func run() async throws {
            try await common.run { invocation in
                var entries: [Entry] = []
                for name in try invocation.profiles.names() {
                    if let entry = try await entry(name, invocation) { entries.append(entry) }
                }
                let table = Table(
                    headings: ["", "PROFILE", "SERVER", "SIGNED IN AS"],
                    rows: entries.map { entry in
                        [
                            entry.selected ? "*" : "", entry.name, entry.url,
                            entry.problem.map { "(\($0))" } ?? entry.user.map(Report.name) ?? "-",
                        ]
                    })
                try invocation.show(
                    Document(profiles: entries),
                    entries.isEmpty ? "There is no profile yet: gatehouse login --url https://…" : table.text)
            }
        }

        private func entry(_ name: ProfileName, _ invocation: Invocation) async throws -> Entry? {
            guard let profile = try await invocation.profiles.load(name) else { return nil }
            var entry = Entry(
                name: "\(name)", url: profile.url.absoluteString, selected: name == invocation.name)
            let session = try await invocation.client(of: profile, named: name, isOnline: false).session
            do {
                try await session.start()
                entry.user = await session.state.user
            } catch {
                entry.problem = error.reason ?? "\(error.kind)"
            }
            return entry
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a signed-out profile.",
            discussion: "A damaged profile is removed too.")

        @OptionGroup var common: CommonOptions

        @Argument(help: "The profile's name.")
        var name: ProfileName

        private struct Removed: Encodable {
            var removed: String
        }

        func run() async throws {
            try await common.run { invocation in
                guard try invocation.profiles.names().contains(name) else {
                    throw CommandFailure(.refused, "There is no profile \(name).", code: "notFound")
                }
                // A session that cannot be read cannot be signed out.
                if let profile = try? await invocation.profiles.load(name),
                    let client = try? await invocation.client(of: profile, named: name, isOnline: false),
                    (try? await client.session.start()) != nil, await client.session.state.user != nil
                {
                    throw CommandFailure(
                        .refused, "The profile \(name) is still signed in.",
                        details: ["Sign out first: gatehouse logout --profile \(name)"], code: "signedIn")
                }
                try invocation.profiles.remove(name)
                try invocation.show(Removed(removed: "\(name)"), "Removed the profile \(name).")
            }
        }
    }
}
