import Contracts

extension AccountChange {
    /// - Throws: `INVALID_REQUEST` naming the field.
    init(_ request: AdminUpdateUserRequest) throws(Problem) {
        if let text = request.displayName {
            let name = try Problem.checking("displayName") { () throws(Refusal) in try DisplayName.read(text) }
            displayName = .some(name)
        }
        if let name = request.role {
            role = try Problem.checking("role") { () throws(Refusal) in try Role(name) }
        }
        if let ids = request.storeIds {
            stores = try Problem.checking("storeIds") { () throws(Refusal) in try StoreList(ids) }
        }
    }
}
