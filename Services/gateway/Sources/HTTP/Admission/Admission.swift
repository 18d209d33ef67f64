/// What becomes of a request whose head is read.
enum Admission {
    case forward(Exchange)
    case respond(LocalResponse, requestID: [UInt8])
    /// The bearer's key is being fetched: the head is looked at again afterwards.
    case waitForKeys(AddressKey)
    /// All places for passwords are taken: the head is looked at again after a moment.
    case waitForPlace(AddressKey)
}
