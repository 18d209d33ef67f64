import ArgumentParser
import TokensService

/// `tokens keys generate`
struct GenerateKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "Make a key that signs access tokens, and one for refresh tokens.",
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
