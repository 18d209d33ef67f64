import ArgumentParser
import Foundation
import GatehouseServiceKit

/// `tokens keys …`
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "Generate and replace the keys of the service.",
        discussion: """
            Signing keys are replaced without refusing a token: generate the next key, wait until every gateway has \
            fetched it (ten minutes), rotate, wait until the last token of the old key has expired, retire it. A \
            running service follows the file by itself.
            """,
        subcommands: [GenerateKeysCommand.self, ListKeysCommand.self, RotateKeysCommand.self, RetireKeysCommand.self])
}

/// `tokens keys generate`
struct GenerateKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "Generate a key that signs access tokens, and one for refresh tokens.",
        discussion: """
            Files of secret keys are made with mode 0600, that of public keys with 0644. A signing keys file that is \
            there already is given a next key; a refresh keys file that is there already is left alone and is an error.
            """)

    @Option(help: ArgumentHelp("Where to write the private RSA key (PEM).", valueName: "path"))
    var signingKeyFile: String?

    @Option(help: ArgumentHelp("Where to write the public halves of all signing keys (PEM).", valueName: "path"))
    var publicKeyFile: String?

    @Option(help: ArgumentHelp("Where to write the refresh token keys.", valueName: "path"))
    var refreshKeysFile: String?

    @Option(help: "Bits of the RSA key, 2048 to 8192.")
    var bits = 2048

    @Option(help: "The refresh token key's id, 0 to 255; one that TOKENS_REFRESH_KEYS_FILE does not hold unless given.")
    var id: UInt8?

    @Flag(help: "Mark the keys as made for development; production refuses them.")
    var development = false

    func validate() throws {
        guard (2048...8192).contains(bits) else { throw ValidationError("--bits must be from 2048 to 8192.") }
        guard publicKeyFile == nil || signingKeyFile != nil else {
            throw ValidationError("--public-key-file needs --signing-key-file.")
        }
        guard signingKeyFile != nil || refreshKeysFile != nil else {
            throw ValidationError("Give --signing-key-file, --refresh-keys-file, or both.")
        }
    }

    func run() async throws {
        let generator = KeyGenerator(isForDevelopment: development)
        if let signingKeyFile {
            let entry = try generator.writeSigningKey(bits: bits, to: signingKeyFile, publicKeyTo: publicKeyFile)
            print("Wrote \(signingKeyFile) (kid \(entry.keyID), \(entry.state)).")
            if let publicKeyFile { print("Wrote \(publicKeyFile).") }
        }
        if let refreshKeysFile {
            let present = try SigningKeyOptions.settings().refreshKeysFile
            let id = try generator.writeRefreshKey(id: id, to: refreshKeysFile, besides: present)
            print("Wrote \(refreshKeysFile) (id \(id)).")
        }
    }
}

/// `tokens keys list`
struct ListKeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Show the signing keys.")

    @OptionGroup var options: SigningKeyOptions

    func run() throws {
        for entry in try options.file().read().entries {
            print("\(entry.keyID)  \(entry.label)")
        }
    }
}

/// `tokens keys rotate`
struct RotateKeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate", abstract: "Sign with the next key; the present one stays published.",
        discussion: """
            Stores TOKENS_ACCESS_TOKEN_LIFETIME with the present key, so that `retire` keeps the key for at least as \
            long. The setting comes from the environment or from the file that TOKENS_CONFIG_FILE names.
            """)

    @OptionGroup var options: SigningKeyOptions

    @Flag(help: "Rotate even if the next key was published only a moment ago.")
    var force = false

    @Option(
        help: """
            Seconds for which the next key must have been published, 3 or more. Use less than 600 only if every \
            verifier fetches the keys again for an unknown key, as gateways do.
            """)
    var publicationTime = Int(SigningKeys.publicationTime)

    func validate() throws {
        try SigningKeyOptions.check(publicationTime, of: "--publication-time")
    }

    func run() throws {
        let lifetime = try SigningKeyOptions.settings().accessTokenLifetime
        let keys = try options.file().change { keys in
            try keys.rotate(
                at: .now, accessTokenLifetime: lifetime, publicationTime: TimeInterval(publicationTime), force: force)
            return keys
        }
        print("\(keys.entries[0].keyID) signs now.")
    }
}

/// `tokens keys retire`
struct RetireKeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retire", abstract: "Remove the keys whose tokens have all expired.",
        discussion: """
            The larger of two lifetimes applies: the one that `rotate` stored with the key, and \
            --access-token-lifetime. The latter defaults to TOKENS_ACCESS_TOKEN_LIFETIME of the environment or of the \
            file that TOKENS_CONFIG_FILE names, or else to 3600.
            """)

    @OptionGroup var options: SigningKeyOptions

    @Option(help: "Seconds; TOKENS_ACCESS_TOKEN_LIFETIME unless given.")
    var accessTokenLifetime: Int?

    @Option(help: "Seconds that replicas may take to notice a rotation, 3 or more.")
    var noticeTime = Int(SigningKeys.noticeTime)

    @Option(
        help: ArgumentHelp("The file of public keys for gateways that read one; replaced.", valueName: "path"))
    var publicKeyFile: String?

    func validate() throws {
        try SigningKeyOptions.check(noticeTime, of: "--notice-time")
    }

    func run() throws {
        let lifetime = try accessTokenLifetime ?? SigningKeyOptions.settings().accessTokenLifetime
        let (keys, retired) = try options.file().change { keys in
            let retired = keys.retire(
                at: .now, accessTokenLifetime: lifetime, noticeTime: TimeInterval(noticeTime))
            return (keys, retired)
        }
        if let publicKeyFile { try KeyGenerator.writePublicKeys(keys, to: publicKeyFile) }
        if retired.isEmpty { print("No key can go yet.") }
        for entry in retired { print("\(entry.keyID) is gone.") }
    }
}

/// The signing keys file that the commands change.
struct SigningKeyOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The signing keys; TOKENS_SIGNING_KEY_FILE unless given.", valueName: "path"))
    var signingKeyFile: String?

    func file() throws -> SigningKeyFile {
        guard let path = try signingKeyFile ?? Self.settings().signingKeyFile else {
            throw ValidationError("Give --signing-key-file.")
        }
        return SigningKeyFile(path: path)
    }

    /// Refuses a time that is too short for replicas to notice a change.
    static func check(_ seconds: Int, of option: String) throws {
        guard TimeInterval(seconds) >= SigningKeys.shortestNotice else {
            throw ValidationError("\(option) must be \(Int(SigningKeys.shortestNotice)) or more.")
        }
    }

    /// - Throws: the exit code.
    static func settings() throws(ExitCode) -> KeySettings {
        do {
            return try KeySettings()
        } catch {
            throw CommandError.wrongConfiguration(error)
        }
    }
}
