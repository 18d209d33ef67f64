import Foundation
import Yams

/// The settings of the file, in YAML (or JSON, its subset), flattened to the names of environment variables.
struct SettingsFile {
    /// Values by the name that the environment would use.
    private(set) var values: [String: String] = [:]
    /// The key path in the file by the same name.
    private(set) var paths: [String: String] = [:]
    /// Why the file could not be used.
    private(set) var problem: String?

    init(path: String?) {
        guard let path else { return }
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            problem = "names a file that cannot be read: \(path)"
            return
        }
        do {
            if let root = try Yams.compose(yaml: text) {
                flatten(root, path: [])
            }
        } catch {
            problem = "names a file that is neither YAML nor JSON: \(path): \(error)"
        }
    }

    private mutating func flatten(_ node: Node, path: [String]) {
        switch node {
        case .mapping(let mapping):
            for (key, value) in mapping {
                flatten(value, path: path + [key.string ?? ""])
            }
        case .sequence(let sequence):
            set(sequence.map { $0.string ?? "" }.joined(separator: ","), path: path)
        case .scalar(let scalar):
            if node.null == nil {
                set(scalar.string, path: path)
            }
        case .alias:
            problem = "names a file with an alias, which is not supported"
        }
    }

    private mutating func set(_ value: String, path: [String]) {
        guard !path.isEmpty else {
            problem = "names a file that holds no keys"
            return
        }
        let name = path.map(SettingName.upperSnake).joined(separator: "_")
        if paths[name] != nil {
            problem = "names a file that sets \(path.joined(separator: ".")) twice"
        }
        values[name] = value
        paths[name] = path.joined(separator: ".")
    }
}

/// The requirements on a file that contains a secret.
public enum SecretFile {
    /// The mode of a file (as in `chmod`) that every user of the system may read, write or run; `nil` for all others.
    public static func openMode(_ path: String) -> String? {
        var info = stat()
        guard stat(path, &info) == 0, info.st_mode & 0o007 != 0 else { return nil }
        return String(info.st_mode & 0o777, radix: 8)
    }
}

/// Detects secrets and keys that were made for development, so that production can refuse them.
public enum DevelopmentSecret {
    /// The first characters of a credential, or of the password in a database's address.
    private static let prefix = "dev-"
    /// The first characters of a key file.
    private static let fileMark = "# development"

    static func isMarked(_ secret: String) -> Bool {
        secret.hasPrefix(prefix) || secret.contains(":\(prefix)")
    }

    /// Whether a file with this text was made for development.
    public static func isMarked(file text: String) -> Bool { text.hasPrefix(fileMark) }

    /// The start of a new file: the line that marks a file made for development, otherwise nothing.
    public static func fileHead(isForDevelopment: Bool) -> String { isForDevelopment ? fileMark + "\n" : "" }
}
