import Contracts
import ServiceKit

extension GatehouseRequestContext {
    /// How long PostgreSQL may keep a request: when it is away or hangs, the answer is there within 2 s.
    static let patience: Duration = .milliseconds(1800)

    /// Until when to work on the request.
    ///
    /// - Throws: `UNAVAILABLE` when nobody waits for the answer any more: such a request is not acted on.
    func workDeadline() throws(Problem) -> ContinuousClock.Instant {
        guard !deadline.hasPassed else { throw Problem(.unavailable) }
        return deadline.capped(at: Self.patience).instant
    }

    /// The client's address as it is kept with the session.
    var ipAddress: String? { clientAddress.isEmpty ? nil : clientAddress }
}
