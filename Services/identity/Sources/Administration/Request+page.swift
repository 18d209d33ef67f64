import Contracts
import Foundation
import Hummingbird
import ServiceKit

/// What lists are asked for in the query.
extension Request {
    static let defaultLimit = 50
    static let maximumLimit = 200

    /// A field of the query; `nil` where it is absent. An empty one is read like any other text.
    ///
    /// - Throws: `INVALID_REQUEST` naming the field.
    func queried<Value>(
        _ name: String, _ read: (String) throws(Refusal) -> Value
    ) throws(Problem) -> Value? {
        guard let text = uri.queryParameters.get(name) else { return nil }
        return try Problem.checking(name) { () throws(Refusal) in try read(text) }
    }

    /// How many entries a page is to have.
    func queriedLimit() throws(Problem) -> Int {
        try queried("limit") { text throws(Refusal) in
            guard let limit = Int(text), (1...Self.maximumLimit).contains(limit) else {
                throw Refusal("Want a number from 1 to \(Self.maximumLimit).")
            }
            return limit
        } ?? Self.defaultLimit
    }

    func queriedTime(_ name: String) throws(Problem) -> Date? {
        try queried(name) { text throws(Refusal) in
            guard text.utf8.count <= 32, let time = try? Date(text, strategy: .iso8601) else {
                throw Refusal("Want a time like 2026-11-20T12:00:00Z.")
            }
            return time
        }
    }

    func queriedID(_ name: String) throws(Problem) -> UUID? {
        try queried(name) { text throws(Refusal) in
            guard let id = UUID(uuidString: text) else { throw Refusal("Want an id.") }
            return id
        }
    }
}
