// Pure: no I/O, no clock.

import GatehouseAccessTokens
import GatehouseBytes

/// An issuer whose access tokens the gateway accepts.
struct TrustedIssuer: Sendable, Equatable {
    enum Trust: Sendable, Equatable {
        /// Its users are identified to services like Gatehouse's own: it is Gatehouse, or is trusted as Gatehouse is.
        case gatehouse
        /// Its users are not Gatehouse's: separate fields identify them to services.
        case external(External)
    }

    struct External: Sendable, Equatable {
        var form = ExternalTokenVerifier.Form()
        /// The names that routes use for its roles. Other roles do not satisfy a route that requires one.
        var roleNames: [VerbatimString: VerbatimString] = [:]
    }

    /// `iss`
    var issuer: String
    /// `aud`
    var audience: String
    var trust = Trust.gatehouse
}
