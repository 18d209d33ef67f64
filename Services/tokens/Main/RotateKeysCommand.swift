import ArgumentParser
import Foundation
import TokensService

/// Which file the commands on signing keys are about.
struct SigningKeyOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The signing keys; TOKENS_SIGNING_KEY_FILE unless given.", valueName: "path"))
    var signingKeyFile: String?

    func file() throws -> SigningKeyFile {
        guard let path = signingKeyFile ?? ProcessInfo.processInfo.environment["TOKENS_SIGNING_KEY_FILE"] else {
            throw ValidationError("Give --signing-key-file.")
        }
        return SigningKeyFile(path: path)
    }
}

/// `tokens keys list`
struct ListKeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Show the signing keys.")

    @OptionGroup var options: SigningKeyOptions

    func run() throws {
        for entry in try options.file().read().entries {
            let since = entry.since.map { " since " + $0.formatted(.iso8601) } ?? ""
            print("\(entry.keyID)  \(entry.state)\(since)")
        }
    }
}

/// `tokens keys rotate`
struct RotateKeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate", abstract: "Sign with the next key; the present one stays published.")

    @OptionGroup var options: SigningKeyOptions

    @Flag(help: "Also when the next key was published only a moment ago.")
    var force = false

    func run() throws {
        let keys = try options.file().change { keys in
            try keys.rotate(at: .now, force: force)
            return keys
        }
        print("\(keys.entries[0].keyID) signs now.")
    }
}

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
