import Bytes
import Foundation

/// What ids begin with that an operator looks for.
struct IDPrefix: Sendable, Equatable {
    let first: UUID
    let last: UUID

    /// - Parameter text: up to 32 hexadecimal digits, with or without hyphens between them.
    init(_ text: String) throws(Refusal) {
        let refusal = Refusal("An id begins with hexadecimal digits.")
        guard text.utf8.count <= 36 else { throw refusal }
        let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }
        guard (1...32).contains(digits.count), digits.allSatisfy({ Hexadecimal.value($0) != nil }),
            let first = Self.id(digits, filledWith: "0"), let last = Self.id(digits, filledWith: "f")
        else { throw refusal }
        self.first = first
        self.last = last
    }

    private static func id(_ digits: [UInt8], filledWith filler: Character) -> UUID? {
        let text = Array(String(decoding: digits, as: UTF8.self)) + Array(repeating: filler, count: 32 - digits.count)
        let parts = [text[0..<8], text[8..<12], text[12..<16], text[16..<20], text[20..<32]]
        return UUID(uuidString: parts.map { String($0) }.joined(separator: "-"))
    }
}
