import Contracts

extension Problem {
    /// Reads a field of a request.
    /// - Throws: `INVALID_REQUEST` naming the field, when `read` refuses its value.
    static func checking<Value>(_ field: String, _ read: () throws(Refusal) -> Value) throws(Problem) -> Value {
        do {
            return try read()
        } catch {
            throw .invalid(field, error.message)
        }
    }
}
