import AccessToken
import Bytes

/// Verifies the tokens of one issuer.
enum TokenVerifier: Sendable {
    case gatehouse(AccessTokenVerifier)
    case external(ExternalTokenVerifier, roleNames: [VerbatimString: VerbatimString])

    init(_ issuer: TrustedIssuer, keys: VerificationKeySet, leeway: Int64) throws(AccessTokenError) {
        switch issuer.standing {
        case .gatehouse:
            self = .gatehouse(
                try AccessTokenVerifier(issuer: issuer.issuer, audience: issuer.audience, keys: keys, leeway: leeway))
        case .external(let external):
            self = .external(
                try ExternalTokenVerifier(
                    issuer: issuer.issuer, audience: issuer.audience, form: external.form, keys: keys, leeway: leeway),
                roleNames: external.roleNames)
        }
    }

    /// - Parameters:
    ///   - place: the issuer's, in the list of trusted issuers.
    ///   - generation: of the issuer's keys.
    ///   - leeway: seconds.
    func verify(
        _ token: [UInt8], now: Int64, place: Int, generation: Int, leeway: Int64
    ) throws(AccessTokenError) -> VerifiedToken {
        switch self {
        case .gatehouse(let verifier):
            let claims = try verifier.verify(token, now: now)
            return VerifiedToken(
                claims, identityLines: claims.identityLines(isForeign: place != 0), issuerPlace: place,
                generation: generation, leeway: leeway)
        case .external(let verifier, let roleNames):
            let claims = try verifier.verify(token, now: now)
            return VerifiedToken(
                external: claims, identityLines: claims.identityLines, roleNames: roleNames, issuerPlace: place,
                generation: generation, leeway: leeway)
        }
    }
}
