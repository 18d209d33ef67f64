import ArgumentParser
import ServiceKit
import TokensService

/// Which file the commands on signing keys are about.
struct SigningKeyOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The signing keys; TOKENS_SIGNING_KEY_FILE unless given.", valueName: "path"))
    var signingKeyFile: String?

    func file() throws -> SigningKeyFile {
        guard let path = try signingKeyFile ?? settings().signingKeyFile else {
            throw ValidationError("Give --signing-key-file.")
        }
        return SigningKeyFile(path: path)
    }

    /// - Throws: the exit code.
    func settings() throws(ExitCode) -> KeySettings {
        do {
            return try KeySettings()
        } catch {
            throw CommandError.wrongConfiguration(error)
        }
    }
}
