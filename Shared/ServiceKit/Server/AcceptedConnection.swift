package import HummingbirdCore
package import Logging
package import NIOCore
import Synchronization

/// An accepted connection on its way to whoever serves it.
///
/// A server that stops drops the connections that it has accepted and not yet served. NIO ends the process when an
/// asynchronous channel is released that was never opened (apple/swift-nio#2637), so such a connection is opened and
/// closed here.
package final class AcceptedConnection: ServerChildChannelValue {
    let connection: HTTP1Channel.Value
    private let arrivals: ArrivalTimes?
    private let isServed = Atomic(false)

    package var channel: any Channel { connection.channel }

    /// - Parameter arrivals: what the connection's handlers note them in, where they do.
    init(_ connection: HTTP1Channel.Value, arrivals: ArrivalTimes?) {
        self.connection = connection
        self.arrivals = arrivals
    }

    deinit {
        guard !isServed.load(ordering: .relaxed) else { return }
        Task { [connection] in try? await connection.executeThenClose { _, _ in } }
    }

    func serve(_ body: (HTTP1Channel.Value) async -> Void) async {
        isServed.store(true, ordering: .relaxed)
        await ArrivalTimes.$ofConnection.withValue(arrivals) { await body(connection) }
    }
}

/// HTTP/1.1 connections, each as an ``AcceptedConnection``.
package struct ServedHTTP1Channel: ServerChildChannel {
    let http1: HTTP1Channel

    package init(http1: HTTP1Channel) { self.http1 = http1 }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<AcceptedConnection> {
        http1.setup(channel: channel, logger: logger).map { connection in
            let handler = try? channel.pipeline.syncOperations.handler(type: HTTPConnectionGuard.self)
            return AcceptedConnection(connection, arrivals: handler?.arrivals)
        }
    }

    package func handle(value: AcceptedConnection, logger: Logger) async {
        await value.serve { await http1.handle(value: $0, logger: logger) }
    }
}
