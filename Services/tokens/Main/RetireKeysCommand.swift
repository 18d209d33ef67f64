import ArgumentParser
import Foundation
import TokensService

/// `tokens keys retire`
struct RetireKeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retire", abstract: "Remove the keys of which no token can live any more.")

    @OptionGroup var options: SigningKeyOptions

    @Option(help: "Seconds; TOKENS_ACCESS_TOKEN_LIFETIME (3600) unless given. Where it was longer lately, that.")
    var accessTokenLifetime: Int?

    @Option(
        help: ArgumentHelp("The file of public keys for gateways that read one; written anew.", valueName: "path"))
    var publicKeyFile: String?

    func run() throws {
        let lifetime = try lifetime()
        let (keys, retired) = try options.file().change { keys in
            let retired = keys.retire(at: .now, accessTokenLifetime: TimeInterval(lifetime))
            return (keys, retired)
        }
        if let publicKeyFile { try KeyGenerator.writePublicKeys(keys, to: publicKeyFile) }
        if retired.isEmpty { print("No key can go yet.") }
        for entry in retired { print("\(entry.keyID) is gone.") }
    }

    private func lifetime() throws -> Int {
        if let accessTokenLifetime { return accessTokenLifetime }
        guard let text = ProcessInfo.processInfo.environment["TOKENS_ACCESS_TOKEN_LIFETIME"] else { return 3600 }
        guard let seconds = Int(text) else {
            throw ValidationError("TOKENS_ACCESS_TOKEN_LIFETIME is not a number of seconds: \(text)")
        }
        return seconds
    }
}
