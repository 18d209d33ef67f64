import AccessToken
/// How far a reader of the revocation feed has come, in terms of PostgreSQL's own snapshots: what a snapshot does not
/// see was committed later, whatever number it bears.
struct RevocationCursor: Sendable, Equatable {
    /// The database's history; snapshots of another one mean nothing.
    var history: String
    /// All that this snapshot sees has been read; `nil` when nothing has.
    var seen: String?
    /// While the pages of one reading are fetched: what it reads up to, and the last entry so far.
    var reading: Reading?

    struct Reading: Sendable, Equatable {
        var snapshot: String
        var transaction: UInt64
        var id: Int64
    }

    /// Opaque to readers.
    var text: String {
        var parts = [history, seen ?? ""]
        if let reading { parts += [reading.snapshot, String(reading.transaction), String(reading.id)] }
        return Base64URL.string(Array(parts.joined(separator: "/").utf8))
    }

    init(history: String, seen: String?, reading: Reading? = nil) {
        self.history = history
        self.seen = seen
        self.reading = reading
    }

    /// - Returns: `nil` for what `text` does not write: a cursor of another version, say.
    init?(text: String) {
        guard let bytes = Base64URL.decode(text) else { return nil }
        let parts = String(decoding: bytes, as: UTF8.self)
            .split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 || parts.count == 5 else { return nil }
        history = parts[0]
        if !parts[1].isEmpty {
            guard Self.isSnapshot(parts[1]) else { return nil }
            seen = parts[1]
        }
        guard parts.count == 5 else { return }
        guard Self.isSnapshot(parts[2]), let transaction = UInt64(parts[3]), let id = Int64(parts[4]) else {
            return nil
        }
        reading = Reading(snapshot: parts[2], transaction: transaction, id: id)
    }

    /// `xmin:xmax:xip,…`, as PostgreSQL reads one without complaint.
    private static func isSnapshot(_ text: String) -> Bool {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let minimum = UInt64(parts[0]), let maximum = UInt64(parts[1]) else { return false }
        guard minimum > 0, minimum <= maximum else { return false }
        var last = UInt64(0)
        for part in parts[2].split(separator: ",", omittingEmptySubsequences: false) where !parts[2].isEmpty {
            guard let transaction = UInt64(part), transaction > last else { return false }
            guard (minimum..<maximum).contains(transaction) else { return false }
            last = transaction
        }
        return true
    }
}
