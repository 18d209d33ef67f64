import Foundation
import GatehouseService

/// An item as its user sees it.
struct Item: Codable, Equatable {
    var id: Int
    /// The caller's user id, in lower case.
    var of: String
    var role: String
    var stores: [String]

    init(id: Int, of user: ForwardedUser) {
        self.id = id
        of = user.id.uuidString.lowercased()
        role = user.role
        stores = user.storeIDs
    }
}

/// The response of `GET /v1/orders`.
struct ItemList: Codable {
    var items: [Item]
    var role: String
}
