/// bcrypt (Provos, Mazières 1999): `$2b$12$` and 53 characters of salt and hash. It looks at the first 72 bytes of a
/// password.
struct BcryptHash: Sendable, Equatable {
    /// The logarithm of the rounds. 14 is about a second.
    static let costs = 4...14

    let text: String

    init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 60, ["$2a$", "$2b$", "$2y$"].contains(text.prefix(4)), bytes[6] == UInt8(ascii: "$"),
            let cost = Int(text.dropFirst(4).prefix(2)), Self.costs.contains(cost), text.dropFirst(4).first != "+",
            bytes[7...].allSatisfy(Self.isDigit)
        else { return nil }
        self.text = text
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }
}
