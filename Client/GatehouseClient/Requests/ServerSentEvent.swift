/// One event of an event stream.
public struct ServerSentEvent: Sendable, Equatable {
    /// The event's type; `message` where the server names none.
    public var event: String
    /// Several lines are separated by a line feed.
    public var data: String
    /// The last identifier that the server has given, with this event or an earlier one: what `Last-Event-ID` says when
    /// the stream is asked for again.
    public var id: String?
    /// How long to wait before that, where the server has said so.
    public var retry: Duration?

    public init(event: String = "message", data: String, id: String? = nil, retry: Duration? = nil) {
        self.event = event
        self.data = data
        self.id = id
        self.retry = retry
    }
}
