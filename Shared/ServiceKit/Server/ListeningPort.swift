import Synchronization

/// The port that a server has opened, for those who asked for any free one.
public final class ListeningPort: Sendable {
    private let opened: AsyncStream<Int>
    private let source: AsyncStream<Int>.Continuation
    private let known = Mutex<Int?>(nil)

    public init() {
        (opened, source) = AsyncStream.makeStream()
    }

    /// Told by the server once it accepts connections.
    public func open(_ port: Int) {
        known.withLock { $0 = port }
        source.yield(port)
        source.finish()
    }

    var isOpen: Bool { known.withLock { $0 != nil } }

    /// The port, as soon as there is one. One task may wait at a time.
    ///
    /// - Throws: `CancellationError`.
    public func port() async throws -> Int {
        for await port in opened { return port }
        guard let port = known.withLock({ $0 }) else { throw CancellationError() }
        return port
    }
}
