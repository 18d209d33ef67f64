import GatehouseAccessTokens
import GatehouseTokenValidation

/// An issuer whose verifier is its keys.
struct TestIssuer: KeyIssuer {
    var issuer: String

    func verifier(with keys: VerificationKeySet, leeway: Int64) -> VerificationKeySet { keys }
}
