import ArgumentParser
import Foundation
import TokensService

/// `tokens keys rotate`
struct RotateKeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate", abstract: "Sign with the next key; the present one stays published.",
        discussion: """
            Notes TOKENS_ACCESS_TOKEN_LIFETIME of the environment or of the file that TOKENS_CONFIG_FILE names with \
            the present key, so that `retire` keeps it for at least as long.
            """)

    @OptionGroup var options: SigningKeyOptions

    @Flag(help: "Also when the next key was published only a moment ago.")
    var force = false

    @Option(
        help: """
            Seconds for which the next key has to have been published, 3 or more. Less than 600 only where whoever \
            verifies asks again for a key that it does not know, as gateways do.
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
