import Foundation

/// Counts refused attempts to open an account, so that the audit log has one entry for those of some minutes and not one for each: how many
/// there are is up to strangers.
struct RefusalTally: Sendable {
    struct Key: Hashable, Sendable {
        var userID: UUID
        /// Why: a word of ours.
        var detail: String
        /// The user who is signed in.
        var by: UUID?
    }

    struct Refusals: Sendable, Equatable {
        var count = 1
        var since: ContinuousClock.Instant
        /// Of the latest.
        var origin: AuditOrigin?
    }

    /// How long refusals are counted together.
    static let window = Duration.seconds(300)
    /// Users and reasons that are counted at the same time.
    static let capacity = 10_000

    private var counts: [Key: Refusals] = [:]

    var isEmpty: Bool { counts.isEmpty }

    /// - Returns: whether there was room to count it.
    mutating func note(_ key: Key, from origin: AuditOrigin?, at now: ContinuousClock.Instant) -> Bool {
        if var refusals = counts[key] {
            refusals.count += 1
            refusals.origin = origin
            counts[key] = refusals
            return true
        }
        guard counts.count < Self.capacity else { return false }
        counts[key] = Refusals(since: now, origin: origin)
        return true
    }

    /// Takes out what has been counted for long enough.
    /// - Parameter all: takes out the rest, too.
    mutating func take(at now: ContinuousClock.Instant, all: Bool = false) -> [Key: Refusals] {
        let due = counts.filter { all || $0.value.since + Self.window <= now }
        for key in due.keys { counts[key] = nil }
        return due
    }

    /// Puts back what could not be written.
    mutating func putBack(_ refusals: Refusals, for key: Key) {
        if var newer = counts[key] {
            newer.count += refusals.count
            newer.since = min(newer.since, refusals.since)
            counts[key] = newer
        } else {
            counts[key] = refusals
        }
    }
}
