import Foundation

extension UUID {
    /// As it stands in a path.
    var path: String { uuidString.lowercased() }
}
