/// The names of the IANA time zone database, links such as `Asia/Calcutta` included.
///
/// Foundation's `TimeZone(identifier:)` is no judge of them: it takes `GMT+3` and its like.
struct TimeZoneNames: Sendable, Equatable {
    /// In bytes; the longest of today has 30.
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

    /// Whether it may be the name of a zone: one that is here, or of the form that those have that are still to come
    /// (`Area/Location`): a phone may know zones of which this machine has not heard.
    func accepts(_ name: String) -> Bool {
        // What is looked up is hashed, and hashing normalizes: length first.
        name.utf8.count <= Self.maximumLength && (names.contains(name) || Self.isWellFormed(name))
    }

    private static func isWellFormed(_ name: String) -> Bool {
        let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return (2...3).contains(parts.count)
            && parts.allSatisfy { part in
                part.first.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) } == true
                    && part.allSatisfy { byte in
                        switch byte {
                        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
                            UInt8(ascii: "+"):
                            true
                        default: false
                        }
                    }
            }
    }
}
