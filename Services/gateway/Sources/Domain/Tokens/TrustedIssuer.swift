import AccessToken
import Bytes

/// Whose access tokens are good here.
struct TrustedIssuer: Sendable, Equatable {
    enum Standing: Sendable, Equatable {
        /// Its users are told of as Gatehouse's own are: it is Gatehouse, or is trusted as Gatehouse is.
        case gatehouse
        /// Its users are others: services are told of them in fields of their own.
        case external(External)
    }

    struct External: Sendable, Equatable {
        var form = ExternalTokenVerifier.Form()
        /// What routes call its roles. Those that are not here open no route that asks for roles.
        var roleNames: [VerbatimString: VerbatimString] = [:]
    }

    /// `iss`
    var issuer: String
    /// `aud`
    var audience: String
    var standing = Standing.gatehouse
}
