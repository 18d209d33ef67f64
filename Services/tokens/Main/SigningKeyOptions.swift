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
