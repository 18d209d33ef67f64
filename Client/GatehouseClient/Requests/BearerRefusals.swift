/// Decides whether a server's refusal of a bearer leads to a refresh.
///
/// A service with a wrong configuration answers every request with 401. Without this rule, each call would cost a
/// refresh, although the new bearer is refused too.
struct BearerRefusals: Sendable {
    enum Decision: Sendable, Equatable {
        case refresh
        /// The response is the answer.
        ///
        /// - `isFirst`: whether the server's refusal has not been logged yet.
        case keep(isFirst: Bool)
    }

    /// A bearer is new for this time after its issue, and not refreshed again for a server whose refusal has led to a
    /// refresh within this time.
    static let newness = Duration.seconds(60)

    /// When each server's refusal has last led to a refresh, unless the server has accepted the new bearer.
    private var renewals: [Origin: Duration] = [:]
    private var logged: Set<Origin> = []

    /// - Parameters:
    ///   - token: the refused bearer.
    ///   - server: the server that has refused it.
    mutating func decision(after token: GatehouseAccessToken, by server: Origin, at monotonic: Duration) -> Decision {
        guard let renewal = renewals[server], monotonic - renewal < Self.newness,
            let issuedAt = token.issuedAt, monotonic - issuedAt < Self.newness
        else { return .refresh }
        return .keep(isFirst: logged.insert(server).inserted)
    }

    /// A server's refusal has led to a new bearer.
    mutating func renewed(for server: Origin, at monotonic: Duration) { renewals[server] = monotonic }

    /// A server has accepted the bearer to which its refusal led. A later refusal of it has another cause: the session
    /// may have ended.
    mutating func accepted(by server: Origin) { renewals[server] = nil }
}
