import Foundation
package import GatehouseServiceContracts

/// Why a value that a user entered is not acceptable, in words for the user.
package struct Refusal: Error, Equatable, CustomStringConvertible {
    package var message: String
    package var description: String { message }

    package init(_ message: String) {
        self.message = message
    }
}

extension Problem {
    /// Reads a field of a request.
    /// - Throws: `INVALID_REQUEST` naming the field, when `read` refuses its value.
    package static func checking<Value>(_ field: String, _ read: () throws(Refusal) -> Value) throws(Problem) -> Value {
        do {
            return try read()
        } catch {
            throw .invalid(field, error.message)
        }
    }
}

extension UUID {
    /// The form that is used in paths.
    package var path: String { uuidString.lowercased() }
}
