import ArgumentParser
import Foundation
import TokensService

/// `tokens keys retire`
struct RetireKeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retire", abstract: "Remove the keys of which no token can live any more.",
        discussion: """
            What counts is the largest of: --access-token-lifetime or, without it, TOKENS_ACCESS_TOKEN_LIFETIME of the \
            environment or of the file that TOKENS_CONFIG_FILE names (3600 where neither has it), and what `rotate` \
            found there and noted with the key.
            """)

    @OptionGroup var options: SigningKeyOptions

    @Option(help: "Seconds; TOKENS_ACCESS_TOKEN_LIFETIME unless given.")
    var accessTokenLifetime: Int?

    @Option(help: "Seconds that replicas may take to notice a rotation, 3 or more.")
    var noticeTime = Int(SigningKeys.noticeTime)

    @Option(
        help: ArgumentHelp("The file of public keys for gateways that read one; written anew.", valueName: "path"))
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
