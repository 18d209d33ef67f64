/// How a service that is told to stop takes leave of its callers.
public enum Draining {
    /// For how long it goes on accepting in production, and asks with each answer that the connection be closed. A
    /// caller that keeps a connection idle for longer has not been asked when it closes: its next request is cut. So
    /// callers let go of idle connections sooner than that.
    public static let delay = Duration.seconds(3)
    /// For how long a caller keeps an idle connection.
    public static let longestIdle = Duration.seconds(2)
}
