import ArgumentParser
import Foundation
import TokensService

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
