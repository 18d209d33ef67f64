import Foundation
import GatehouseAccessTokens
import GatehouseBytes
import GatehouseServiceKit
import GatehouseSettings
import GatehouseTokenValidation

/// Verifies the tokens of one issuer.
enum TokenVerifier: Sendable {
    case gatehouse(AccessTokenVerifier)
    case external(ExternalTokenVerifier, roleNames: [VerbatimString: VerbatimString])

    init(_ issuer: TrustedIssuer, keys: VerificationKeySet, leeway: Int64) throws(AccessTokenError) {
        switch issuer.trust {
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
    ///   - issuerIndex: in the list of trusted issuers.
    ///   - generation: of the issuer's keys.
    ///   - leeway: seconds.
    func verify(
        _ token: [UInt8], now: Int64, issuerIndex: Int, generation: Int, leeway: Int64
    ) throws(AccessTokenError) -> VerifiedToken {
        switch self {
        case .gatehouse(let verifier):
            let claims = try verifier.verify(token, now: now)
            return VerifiedToken(
                claims, identityLines: claims.identityLines(isForeign: issuerIndex != 0), issuerIndex: issuerIndex,
                generation: generation, leeway: leeway)
        case .external(let verifier, let roleNames):
            let claims = try verifier.verify(token, now: now)
            return VerifiedToken(
                external: claims, identityLines: claims.identityLines, roleNames: roleNames, issuerIndex: issuerIndex,
                generation: generation, leeway: leeway)
        }
    }
}

/// A file of public keys (PEM) that verify access tokens, instead of the keys that tokens publishes.
struct PublicKeyFile: Sendable {
    let path: String
    /// Whether keys marked for development are accepted.
    let allowsDevelopment: Bool

    /// - Throws: also if the file contains no key, or keys marked for development that are not accepted.
    func read() throws(AccessTokenError) -> VerificationKeySet {
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw AccessTokenError(.unreadableKey, "The file is not there, or may not be read.")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw AccessTokenError(.unreadableKey, "The file is not text in UTF-8.")
        }
        guard allowsDevelopment || !DevelopmentSecret.isMarked(file: text) else {
            throw AccessTokenError(.unreadableKey, "The keys were made for development.")
        }
        return try VerificationKeySet(pem: text)
    }
}

extension TrustedIssuer: KeyIssuer {
    func verifier(with keys: VerificationKeySet, leeway: Int64) throws(AccessTokenError) -> TokenVerifier {
        try TokenVerifier(self, keys: keys, leeway: leeway)
    }
}

extension IssuerKeys where Issuer == TrustedIssuer {
    /// Of one issuer's keys.
    convenience init(issuer: String, audience: String, leeway: Int64 = 0) {
        self.init(issuers: [TrustedIssuer(issuer: issuer, audience: audience)], leeway: leeway)
    }
}
