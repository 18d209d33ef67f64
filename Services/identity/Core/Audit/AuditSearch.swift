// Pure: no I/O, no clock.

package import Foundation

/// The criteria by which an operator searches the audit log. Without criteria it finds all entries.
package struct AuditSearch: Sendable, Equatable {
    package var userID: UUID?
    var event: String?
    /// An event to leave out.
    var exceptEvent: String?
    var since: Date?
    var until: Date?

    package init(
        userID: UUID? = nil, event: String? = nil, exceptEvent: String? = nil, since: Date? = nil, until: Date? = nil
    ) {
        self.userID = userID
        self.event = event
        self.exceptEvent = exceptEvent
        self.since = since
        self.until = until
    }
}

/// The position at which a page of the audit log ended.
package struct AuditCursor: Sendable, Equatable {
    var at: Date
    var id: Int64

    /// The form that clients receive and send back.
    package var text: String { "\(at.microseconds).\(id)" }

    package init(at: Date, id: Int64) {
        self.at = at
        self.id = id
    }

    package init(_ text: String) throws(Refusal) {
        guard text.utf8.count <= 64, let (at, rest) = Date.microseconds(leading: text), let id = Int64(rest) else {
            throw Refusal("This is not a cursor of this list.")
        }
        self.init(at: at, id: id)
    }
}

extension Date {
    /// Microseconds since 1970, the precision of PostgreSQL's times.
    package var microseconds: Int64 { Int64((timeIntervalSince1970 * 1_000_000).rounded()) }

    /// Reads `MICROSECONDS.REST`.
    package static func microseconds(leading text: String) -> (Date, rest: String)? {
        let parts = text.split(separator: ".", maxSplits: 1)
        guard parts.count == 2, let count = Int64(parts[0]), (0...4_102_444_800_000_000).contains(count) else {
            return nil
        }
        return (Date(timeIntervalSince1970: Double(count) / 1_000_000), String(parts[1]))
    }
}
