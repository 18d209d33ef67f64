import Foundation
import Yams

/// The file half of the settings: YAML, of which JSON is a part, flattened to the names of environment variables.
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
