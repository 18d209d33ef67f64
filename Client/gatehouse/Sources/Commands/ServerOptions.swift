import ArgumentParser
import Foundation
import GatehouseClient

/// Where a sign-in goes. A profile keeps its server: tokens of one are never shown to another.
struct ServerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The gateway's address, https://…; needed once for each profile. Without it GATEHOUSE_URL.",
            valueName: "address"),
        transform: ServerOptions.address)
    var url: URL?

    /// Signs in to the profile's server. A profile that this run has made is gone again where the sign-in fails.
    ///
    /// - Parameter ask: what has to be asked of the person, once it is certain where it goes.
    func signIn<Answer>(
        _ invocation: Invocation, asking ask: () async throws -> Answer,
        _ body: (GatehouseClient, Answer) async throws -> User
    ) async throws {
        let known = try await invocation.profiles.load(invocation.name)
        let profile = try profile(known, invocation)
        // Fails where the address is none that tokens may travel to, before anything is written.
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
                throw CommandFailure(.usage, "GATEHOUSE_URL is no address: it begins with https://")
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
        else { throw ValidationError("'\(text)' is no address: it begins with https://") }
        return url
    }
}
