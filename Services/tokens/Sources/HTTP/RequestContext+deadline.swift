import Contracts
import ServiceKit

extension GatehouseRequestContext {
    /// The deadline of the work on the request.
    ///
    /// - Throws: `UNAVAILABLE` when the request's deadline has passed: nobody waits for the answer, so nothing is done.
    func workDeadline() throws(Problem) -> ContinuousClock.Instant {
        guard !deadline.hasPassed else { throw Problem(.unavailable) }
        return deadline.forDatabase
    }

    /// The client's address as it is kept with the session.
    var ipAddress: String? { clientAddress.isEmpty ? nil : clientAddress }
}
