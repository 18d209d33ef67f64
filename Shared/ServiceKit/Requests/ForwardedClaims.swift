import Contracts
public import Foundation
import HTTPTypes

/// What the gateway has told of the access token besides its user: the claims that the route's `claims` name, and the
/// issuer of every token that is not Gatehouse's. `nil` for what was not told.
public struct ForwardedClaims: Sendable, Equatable {
    /// `email`. Anybody may have typed it in, unless ``isEmailVerified``.
    public var email: String?
    /// `email_verified`; `nil` where there is no address.
    public var isEmailVerified: Bool?
    /// `client_id`: the app.
    public var clientID: String?
    /// `jti`: the token.
    public var tokenID: String?
    /// `iss`
    public var issuer: String?
    /// `iat`
    public var issuedAt: Date?
    /// `exp`
    public var expiresAt: Date?

    init() {}

    /// Reads the gateway's fields; only to be called once its credential has been checked.
    init(_ fields: HTTPFields) {
        email = Self.text(HeaderName.claimEmail, in: fields)
        isEmailVerified = Self.text(HeaderName.claimEmailVerified, in: fields).map { $0 == "true" }
        clientID = Self.text(HeaderName.claimClientID, in: fields)
        tokenID = Self.text(HeaderName.claimTokenID, in: fields)
        issuer = Self.text(HeaderName.claimIssuer, in: fields)
        issuedAt = Self.time(HeaderName.claimIssuedAt, in: fields)
        expiresAt = Self.time(HeaderName.claimExpiresAt, in: fields)
    }

    private static func text(_ name: String, in fields: HTTPFields) -> String? {
        HTTPField.Name(name).flatMap { fields[$0] }?.removingPercentEncoding
    }

    private static func time(_ name: String, in fields: HTTPFields) -> Date? {
        text(name, in: fields).flatMap(TimeInterval.init).map(Date.init(timeIntervalSince1970:))
    }
}

extension GatehouseRequestContext {
    /// The claims that the gateway has forwarded; none without its credential.
    public var claims: ForwardedClaims { fieldsOfGateway.map(ForwardedClaims.init) ?? ForwardedClaims() }
}
