/// What a statement does, in two words: `UPDATE sessions`.
struct SQLSummary: Equatable {
    /// The statement's first word.
    let operation: String
    /// The first table that it names; `nil` where none is found.
    let table: String?

    init(_ sql: String) {
        let words = sql.utf8.split { !Self.isPartOfWord($0) }
        operation = words.first.map { String(Substring($0)).uppercased() } ?? "UNKNOWN"
        var isNext = false
        for word in words {
            if isNext {
                table = String(Substring(word))
                return
            }
            isNext = Self.precedesTable.contains(String(Substring(word)).uppercased())
        }
        table = nil
    }

    /// The name of the statement's span.
    var text: String { table.map { "\(operation) \($0)" } ?? operation }

    private static let precedesTable: Set<String> = ["FROM", "INTO", "UPDATE"]

    private static func isPartOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
