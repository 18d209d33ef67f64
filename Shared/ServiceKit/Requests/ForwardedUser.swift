public import Contracts
public import Foundation
import HTTPTypes

/// The user whose access token the gateway has verified.
public struct ForwardedUser: Sendable, Equatable {
    public let id: UUID
    public let sessionID: UUID
    public let role: String
    public let storeIDs: [String]
    /// When the user last proved who they are, in whole seconds; `nil` where the access token does not tell.
    public let authenticatedAt: Date?
    /// How the user proved it: the claim `amr`. Empty where the access token does not tell.
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

    /// Reads the gateway's fields; only to be called once its credential has been checked.
    init?(_ fields: HTTPFields) {
        guard let id = fields[.gatehouseUserID].flatMap(UUID.init(uuidString:)),
            let sessionID = fields[.gatehouseSessionID].flatMap(UUID.init(uuidString:))
        else { return nil }
        self.init(
            id: id, sessionID: sessionID, role: fields[.gatehouseRole] ?? "",
            storeIDs: Self.list(fields[.gatehouseStoreIDs]),
            authenticatedAt: fields[.gatehouseAuthenticationTime].flatMap { Int64($0) }.map {
                Date(timeIntervalSince1970: TimeInterval($0))
            },
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
