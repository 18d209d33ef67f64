import Contracts
import ServiceKit

extension GatehouseRequestContext {
    /// Until when to work on the request.
    ///
    /// - Throws: `UNAVAILABLE` when nobody waits for the answer any more: such a request is not acted on.
    func workDeadline() throws(Problem) -> ContinuousClock.Instant {
        guard !deadline.hasPassed else { throw Problem(.unavailable) }
        return deadline.forDatabase
    }

    /// The client's address as it is kept with the session.
    var ipAddress: String? { clientAddress.isEmpty ? nil : clientAddress }
}
