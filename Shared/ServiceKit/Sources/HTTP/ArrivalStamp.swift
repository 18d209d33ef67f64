import HTTPTypes

/// When a request's head was read, noted in a field of it.
///
/// The event loop reads the head, and a task serves the request. Between them lies a queue that is seconds long on a
/// busy machine: whoever asks for the time at its other end takes an old request for a new one.
enum ArrivalStamp {
    typealias Instant = ContinuousClock.Instant

    private static let field = HTTPField.Name("Gatehouse-Read-At")!
    private static let start = Instant.now

    /// In place of whatever the caller wrote there.
    static func set(_ instant: Instant, in fields: inout HTTPFields) {
        let (seconds, attoseconds) = start.duration(to: instant).components
        fields[field] = String(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// `nil` where nobody noted it.
    static func instant(in fields: HTTPFields) -> Instant? {
        fields[field].flatMap { Int64($0) }.map { start + .nanoseconds($0) }
    }
}
