import Contracts
public import Foundation
import HTTPTypes

/// The user whose access token the gateway has verified.
public struct ForwardedUser: Sendable, Equatable {
    public let id: UUID
    public let sessionID: UUID
    public let role: String
    public let storeIDs: [String]

    public init(id: UUID, sessionID: UUID, role: String, storeIDs: [String] = []) {
        self.id = id
        self.sessionID = sessionID
        self.role = role
        self.storeIDs = storeIDs
    }

    /// Reads the gateway's fields; only to be called once its credential has been checked.
    init?(_ fields: HTTPFields) {
        guard let id = fields[.gatehouseUserID].flatMap(UUID.init(uuidString:)),
            let sessionID = fields[.gatehouseSessionID].flatMap(UUID.init(uuidString:))
        else { return nil }
        let stores = fields[.gatehouseStoreIDs] ?? ""
        self.init(
            id: id, sessionID: sessionID, role: fields[.gatehouseRole] ?? "",
            storeIDs: stores.split(separator: ",").compactMap { String($0).removingPercentEncoding })
    }
}

extension HTTPField.Name {
    static let requestID = Self(HeaderName.requestID)!
    static let gatehouseUserID = Self(HeaderName.userID)!
    static let gatehouseSessionID = Self(HeaderName.sessionID)!
    static let gatehouseRole = Self(HeaderName.role)!
    static let gatehouseStoreIDs = Self(HeaderName.storeIDs)!
    static let gatehouseBearerError = Self(HeaderName.bearerError)!
    static let gatehouseClientAddress = Self(HeaderName.clientAddress)!
    static let gatehouseRequestID = Self(HeaderName.internalRequestID)!
    static let gatehouseDeadline = Self(HeaderName.deadline)!
    static let gatehouseWaited = Self(HeaderName.waited)!
    static let gatehouseCredential = Self(HeaderName.credential)!
    static let traceparent = Self(HeaderName.traceparent)!
}
