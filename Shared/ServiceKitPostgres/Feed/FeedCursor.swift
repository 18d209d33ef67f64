import Bytes

/// The position of a reader of a feed: a PostgreSQL snapshot (`pg_snapshot`) whose entries it has all read.
///
/// The position is a snapshot because entries are not committed in the order of their numbers. Entries that the
/// snapshot does not contain were committed later and are still to be read.
package struct FeedCursor: Sendable, Equatable {
    /// Names the database's history. A snapshot of another history says nothing about this one.
    package var history: String
    /// The snapshot whose entries have all been read; `nil` at the beginning.
    package var seen: String?
    /// Set while a scan takes more than one page.
    package var scan: Scan?

    /// A scan that has not reached its end.
    package struct Scan: Sendable, Equatable {
        /// The snapshot that the scan reads up to.
        package var snapshot: String
        /// The transaction of the last entry that was read. `id` belongs to the same entry.
        package var transaction: UInt64
        package var id: Int64

        package init(snapshot: String, transaction: UInt64, id: Int64) {
            self.snapshot = snapshot
            self.transaction = transaction
            self.id = id
        }
    }

    /// Opaque to readers.
    package var text: String {
        var parts = [history, seen ?? ""]
        if let scan { parts += [scan.snapshot, String(scan.transaction), String(scan.id)] }
        return Base64URL.string(Array(parts.joined(separator: "/").utf8))
    }

    package init(history: String, seen: String?, scan: Scan? = nil) {
        self.history = history
        self.seen = seen
        self.scan = scan
    }

    /// Parses the format of `text`; `nil` for any other text, such as the cursor of another version.
    package init?(text: String) {
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
        scan = Scan(snapshot: parts[2], transaction: transaction, id: id)
    }

    /// Whether PostgreSQL would accept the text as a snapshot, `xmin:xmax:xip,…`.
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
