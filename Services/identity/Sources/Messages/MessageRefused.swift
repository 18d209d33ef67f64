/// A message that will never be taken, however often it is sent.
struct MessageRefused: Error, CustomStringConvertible {
    /// As the other side gave it: for the log, without what the message holds.
    var reason: String

    var description: String { reason }
}
