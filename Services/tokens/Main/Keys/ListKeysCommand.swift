import ArgumentParser
import TokensService

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
