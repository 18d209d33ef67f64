public import Foundation
public import GatehouseServiceContracts
import HTTPTypes

/// The user whose access token the gateway has verified.
public struct ForwardedUser: Sendable, Equatable {
    public let id: UUID
    public let sessionID: UUID
    public let role: String
    public let storeIDs: [String]
    /// When the user last authenticated, in whole seconds; `nil` if the access token does not contain it.
    public let authenticatedAt: Date?
    /// How the user authenticated: the claim `amr`. Empty if the access token does not contain it.
    public let authenticationMethods: [AuthenticationMethod]

    public init(
        id: UUID, sessionID: UUID, role: String, storeIDs: [String] = [], authenticatedAt: Date? = nil,
        authenticationMethods: [AuthenticationMethod] = []
    ) {
        self.id = id
        self.sessionID = sessionID
        self.role = role
        self.storeIDs = storeIDs
        self.authenticatedAt = authenticatedAt
        self.authenticationMethods = authenticationMethods
    }

    /// Reads the gateway's fields. The caller must have verified the gateway's credential.
    init?(_ fields: HTTPFields) {
        guard let id = fields[.gatehouseUserID].flatMap(UUID.init(uuidString:)),
            let sessionID = fields[.gatehouseSessionID].flatMap(UUID.init(uuidString:))
        else { return nil }
        self.init(
            id: id, sessionID: sessionID, role: fields[.gatehouseRole] ?? "",
            storeIDs: Self.list(fields[.gatehouseStoreIDs]),
            authenticatedAt: fields[.gatehouseAuthenticationTime].flatMap { Int64($0) }.flatMap(Date.init(accepting:)),
            authenticationMethods: Self.list(fields[.gatehouseAuthenticationMethods]).map(
                AuthenticationMethod.init(rawValue:)))
    }

    private static func list(_ field: String?) -> [String] {
        (field ?? "").split(separator: ",").compactMap { String($0).removingPercentEncoding }
    }
}

extension HTTPField.Name {
    static let requestID = Self(HeaderName.requestID)!
    static let gatehouseUserID = Self(HeaderName.userID)!
    static let gatehouseSessionID = Self(HeaderName.sessionID)!
    static let gatehouseRole = Self(HeaderName.role)!
    static let gatehouseStoreIDs = Self(HeaderName.storeIDs)!
    static let gatehouseAuthenticationTime = Self(HeaderName.authenticationTime)!
    static let gatehouseAuthenticationMethods = Self(HeaderName.authenticationMethods)!
    static let gatehouseBearerError = Self(HeaderName.bearerError)!
    static let gatehouseClientAddress = Self(HeaderName.clientAddress)!
    static let gatehouseRequestID = Self(HeaderName.internalRequestID)!
    static let gatehouseDeadline = Self(HeaderName.deadline)!
    static let gatehouseWaited = Self(HeaderName.waited)!
    static let gatehouseCredential = Self(HeaderName.credential)!
    static let traceparent = Self(HeaderName.traceparent)!
}

/// The claims of the access token that the gateway has forwarded: those that the route's `claims` name, and the issuer
/// of every token that is not Gatehouse's. `nil` if the gateway did not forward the claim.
public struct ForwardedClaims: Sendable, Equatable {
    /// `email`. An unverified address may belong to another person (``isEmailVerified``).
    public var email: String?
    /// `email_verified`; `nil` without an address.
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

    /// Reads the gateway's fields. The caller must have verified the gateway's credential.
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
    /// The claims that the gateway has forwarded. All are `nil` without the gateway's credential.
    public var claims: ForwardedClaims { fieldsOfGateway.map(ForwardedClaims.init) ?? ForwardedClaims() }
}

/// A user of another issuer, whose access token the gateway has verified. The user is not one of Gatehouse's users, and
/// `subject` is unique only within the issuer.
public struct ExternalUser: Sendable, Equatable {
    /// `iss`
    public let issuer: String
    /// `sub`: the issuer's identifier of the user. Another issuer may use the same identifier.
    public let subject: String
    /// The issuer's names for the user's roles.
    public let roles: [String]

    /// Reads the gateway's fields. The caller must have verified the gateway's credential.
    init?(_ fields: HTTPFields) {
        guard let issuer = fields[.gatehouseExternalIssuer]?.removingPercentEncoding,
            let subject = fields[.gatehouseExternalSubject]?.removingPercentEncoding
        else { return nil }
        self.issuer = issuer
        self.subject = subject
        roles = (fields[.gatehouseExternalRoles] ?? "").split(separator: ",").compactMap {
            String($0).removingPercentEncoding
        }
    }
}

extension GatehouseRequestContext {
    /// The signed-in user of another issuer. Present only with the gateway's credential, and never together with
    /// ``user``.
    public var externalUser: ExternalUser? { user == nil ? fieldsOfGateway.flatMap(ExternalUser.init) : nil }
}

extension HTTPField.Name {
    fileprivate static let gatehouseExternalIssuer = Self(HeaderName.externalIssuer)!
    fileprivate static let gatehouseExternalSubject = Self(HeaderName.externalSubject)!
    fileprivate static let gatehouseExternalRoles = Self(HeaderName.externalRoles)!
}
