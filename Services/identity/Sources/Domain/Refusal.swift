/// Why a value that a person wrote is not acceptable, in words for that person.
struct Refusal: Error, Equatable, CustomStringConvertible {
    var message: String
    var description: String { message }

    init(_ message: String) {
        self.message = message
    }
}
