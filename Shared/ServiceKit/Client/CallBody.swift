import Contracts
import Foundation

/// What a call to another service sends.
enum CallBody {
    /// `nil` sends nothing.
    case json((any Encodable & Sendable)?)
    /// - Parameter authorization: what stands in `Authorization` beside it.
    case form(String, authorization: String?)

    /// The fields that it needs, and its bytes.
    func encoded() throws -> (fields: [(String, String)], body: Data?) {
        switch self {
        case .json(nil): return ([], nil)
        case .json(let value?): return ([("Content-Type", "application/json")], try JSON.encode(value))
        case .form(let text, let authorization):
            let fields = [("Content-Type", "application/x-www-form-urlencoded")]
            return (fields + (authorization.map { [("Authorization", $0)] } ?? []), Data(text.utf8))
        }
    }
}
