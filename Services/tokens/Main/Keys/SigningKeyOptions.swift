import ArgumentParser
import Foundation
import ServiceKit
import TokensService

/// Which file the commands on signing keys are about.
struct SigningKeyOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The signing keys; TOKENS_SIGNING_KEY_FILE unless given.", valueName: "path"))
    var signingKeyFile: String?

    func file() throws -> SigningKeyFile {
        guard let path = try signingKeyFile ?? Self.settings().signingKeyFile else {
            throw ValidationError("Give --signing-key-file.")
        }
        return SigningKeyFile(path: path)
    }

    /// Refuses what is too short for replicas to notice.
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
