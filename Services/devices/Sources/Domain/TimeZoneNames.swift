/// The names of the IANA time zone database, links such as `Asia/Calcutta` included.
///
/// Foundation's `TimeZone(identifier:)` is no judge of them: it takes `GMT+3` and its like.
struct TimeZoneNames: Sendable, Equatable {
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

    func contains(_ name: String) -> Bool {
        names.contains(name)
    }
}
