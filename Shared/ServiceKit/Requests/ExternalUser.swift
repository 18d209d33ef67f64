import Contracts
import Foundation
import HTTPTypes

/// A user of another issuer, whose access token the gateway has verified: none of Gatehouse's users, and nobody but the
/// issuer can tell two of them apart.
public struct ExternalUser: Sendable, Equatable {
    /// `iss`
    public let issuer: String
    /// `sub`: the issuer's own name for the user. Another issuer may have a user of the same name.
    public let subject: String
    /// What the issuer calls the user's roles.
    public let roles: [String]

    /// Reads the gateway's fields; only to be called once its credential has been checked.
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
    /// The signed-in user of another issuer; present only together with the gateway's credential, and never beside
    /// ``user``.
    public var externalUser: ExternalUser? { user == nil ? fieldsOfGateway.flatMap(ExternalUser.init) : nil }
}

extension HTTPField.Name {
    fileprivate static let gatehouseExternalIssuer = Self(HeaderName.externalIssuer)!
    fileprivate static let gatehouseExternalSubject = Self(HeaderName.externalSubject)!
    fileprivate static let gatehouseExternalRoles = Self(HeaderName.externalRoles)!
}
