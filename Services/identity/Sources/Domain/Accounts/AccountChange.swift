/// What is to change of an account; `nil` leaves it as it is.
struct AccountChange: Sendable {
    /// `.some(nil)` takes the name away.
    var displayName: DisplayName??
    var role: Role?
    var stores: StoreList?
}
