import Foundation
import GatehouseServiceContracts
import Postgres

/// A claim whose statement got no answer: PostgreSQL may have kept it. Nothing of it was sent, so it is given back
/// without an attempt.
struct LostClaim: Sendable {
    /// What may be claimed.
    enum Extent: Sendable {
        /// Some targets of the queue, by the claim's id.
        case targets([PushTarget], id: UUID)
        /// Targets of a new push, in the buckets of its recipients.
        case accepted(push: UUID, buckets: Set<Bucket>)
        /// A page of a slice, by the claim's id.
        case slice(PushSlice, id: UUID)
    }

    let extent: Extent
    /// The statement may be running until this, and keep the claim then: the end of the lease.
    let lostUntil: ContinuousClock.Instant
    /// When it is given back.
    var dueAt = ContinuousClock.now

    init(_ extent: Extent, lostUntil: ContinuousClock.Instant) {
        self.extent = extent
        self.lostUntil = lostUntil
    }
}

extension PostgresError {
    /// Whether a claiming statement that failed so may have claimed: no answer came, or one that cannot be read, or the
    /// server ended the session.
    var mayHaveClaimed: Bool { outcomeIsUnknown || code == .decoding || sqlState?.classCode == "57" }
}
