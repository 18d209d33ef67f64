/// What becomes of a request whose head is read.
enum Admission {
    case forward(Exchange)
    case respond(LocalResponse, requestID: [UInt8])
    /// The bearer's key is being fetched: the head is looked at again afterwards.
    case waitForKeys(RequestPlaces.Place)
    /// All places of a queue are taken: the head is looked at again when one is free, or after a moment.
    case waitInQueue(RequestPlaces.Place, OrderedPlaces)
}
