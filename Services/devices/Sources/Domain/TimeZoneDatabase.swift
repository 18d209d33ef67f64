/// The time zones of the IANA database by name, with links such as `Asia/Calcutta`.
///
/// Foundation's `TimeZone(identifier:)` does not do as a check, since it accepts names such as `GMT+3`.
struct TimeZoneDatabase: Sendable, Equatable {
    /// Bytes of a name; the longest of today has 30.
    static let maximumLength = 64

    private let names: Set<String>

    init(_ names: some Sequence<String>) {
        self.names = Set(names)
    }

    /// Reads the names from the text of `tzdata.zi`, the database in zic(8)'s short form: a line
    /// `Z NAME …` for each zone and `L TARGET NAME` for each link.
    init(zic text: String) {
        var names: Set<String> = []
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ")
            switch fields.first {
            case "Z" where fields.count > 1: names.insert(String(fields[1]))
            case "L" where fields.count > 2: names.insert(String(fields[2]))
            default: continue
            }
        }
        self.names = names
    }

    var isEmpty: Bool { names.isEmpty }

    /// Whether the name is one of the database, or has the form of one (`Area/Location`): a phone's database may be
    /// newer than this machine's. A zone that an app makes of an offset has a name such as `GMT+0200`.
    func accepts(_ name: String) -> Bool {
        // The length comes first: a look-up hashes the text, and hashing normalizes it.
        name.utf8.count <= Self.maximumLength
            && (names.contains(name) || Self.isWellFormed(name) || Self.isOffset(name))
    }

    /// `GMT`, a sign, and hours and minutes of two digits each, as in Foundation's `TimeZone(secondsFromGMT:)`.
    private static func isOffset(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        guard bytes.count == 8, name.utf8.starts(with: "GMT".utf8), bytes[4...].allSatisfy(\.isASCIIDigit),
            bytes[3] == UInt8(ascii: "+") || bytes[3] == UInt8(ascii: "-"),
            let hours = Int(name.suffix(4).prefix(2)), let minutes = Int(name.suffix(2))
        else { return false }
        return hours <= 18 && minutes < 60
    }

    private static func isWellFormed(_ name: String) -> Bool {
        let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return (2...3).contains(parts.count)
            && parts.allSatisfy { part in
                part.first.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) } == true
                    && part.allSatisfy { byte in
                        switch byte {
                        case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "+"): true
                        default: byte.isASCIILetter || byte.isASCIIDigit
                        }
                    }
            }
    }
}
