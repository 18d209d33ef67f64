import ArgumentParser

/// `tokens keys …`
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "Make and replace the keys of the service.",
        discussion: """
            Signing keys are replaced without refusing a token: generate the next key, wait until every gateway has \
            fetched it (ten minutes), rotate, wait until the last token of the old key has expired, retire it. A \
            running service follows the file by itself.
            """,
        subcommands: [GenerateKeysCommand.self, ListKeysCommand.self, RotateKeysCommand.self, RetireKeysCommand.self])
}
