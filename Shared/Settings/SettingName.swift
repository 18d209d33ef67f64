import Foundation

/// A setting's name in its two spellings.
package struct SettingName: Hashable, CustomStringConvertible {
    /// In the environment: `APPLE_SIMULATOR_LISTEN_ADDRESS`.
    package let variable: String
    /// In the file: `appleSimulator.listenAddress`.
    package let path: String

    package init(service: String, key: String) {
        variable = "\(Self.prefix(of: service))\(Self.upperSnake(key))"
        path = "\(Self.camelCase(service)).\(key)"
    }

    package var description: String { "\(variable) (\(path) in the file)" }

    static func prefix(of service: String) -> String {
        service.uppercased().replacingOccurrences(of: "-", with: "_") + "_"
    }

    /// `databaseURL` becomes `DATABASE_URL`: a word begins where an upper-case letter follows a lower-case one.
    static func upperSnake(_ key: String) -> String {
        var name = ""
        var previous: Character?
        for character in key {
            if let previous, previous.isLowercase, character.isUppercase { name.append("_") }
            name.append(character.isLetter || character.isNumber ? Character(character.uppercased()) : "_")
            previous = character
        }
        return name
    }

    private static func camelCase(_ service: String) -> String {
        let words = service.split(separator: "-")
        return words.dropFirst().reduce(String(words.first ?? "")) { $0 + $1.capitalized }
    }
}
