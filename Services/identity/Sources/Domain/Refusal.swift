import Contracts

/// Why a value that a person wrote is not acceptable, in words for that person.
struct Refusal: Error, Equatable, CustomStringConvertible {
    var message: String
    var description: String { message }

    init(_ message: String) {
        self.message = message
    }
}

extension Problem {
    /// Reads an input field: a refusal becomes an `INVALID_REQUEST` that names the field.
    static func checking<Value>(_ field: String, _ read: () throws(Refusal) -> Value) throws(Problem) -> Value {
        do {
            return try read()
        } catch {
            throw .invalid(field, error.message)
        }
    }
}
