/// How long each phase of a client's connection may take, in nanoseconds. All connections of an event loop share one.
final class ClientTimes: Sendable {
    /// For a request to begin.
    let idle: Int64
    /// The same on a connection that is one too many.
    let overLimit: Int64
    /// From the first byte of a head to its last.
    let head: Int64
    /// For keys to be fetched that a request's token needs.
    let keys: Int64
    /// For a place where a password is to be hashed and all are taken.
    let place: Int64
    /// For the beginning of a request's body, before a connection to an upstream is taken.
    let buffering: Int64
    /// For the next part of a response.
    let stream: Int64
    /// For a client to read what it was sent before its connection is closed.
    let linger: Int64
    /// The same for a client that goes on sending, or whose system is still receiving.
    let longestLinger: Int64
    /// How slowly a client may take its responses.
    let pace: ReadingPace

    init(
        idle: Int64, overLimit: Int64, head: Int64, keys: Int64, place: Int64, buffering: Int64, stream: Int64,
        linger: Int64, longestLinger: Int64, pace: ReadingPace
    ) {
        self.idle = idle
        self.overLimit = overLimit
        self.head = head
        self.keys = keys
        self.place = place
        self.buffering = buffering
        self.stream = stream
        self.linger = linger
        self.longestLinger = longestLinger
        self.pace = pace
    }
}
