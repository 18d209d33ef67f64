package import HummingbirdCore
package import Logging
package import NIOCore
import Synchronization

/// An accepted connection on its way to whoever serves it.
///
/// A server that stops drops connections that it accepted in its last moment, and NIO ends the process when an
/// asynchronous channel goes that nobody has opened (apple/swift-nio#2637). Such a connection is opened and closed
/// here.
package final class AcceptedConnection: ServerChildChannelValue {
    let connection: HTTP1Channel.Value
    private let isServed = Atomic(false)

    package var channel: any Channel { connection.channel }

    init(_ connection: HTTP1Channel.Value) { self.connection = connection }

    deinit {
        guard !isServed.load(ordering: .relaxed) else { return }
        Task { [connection] in try? await connection.executeThenClose { _, _ in } }
    }

    func serve(_ body: (HTTP1Channel.Value) async -> Void) async {
        isServed.store(true, ordering: .relaxed)
        await body(connection)
    }
}

/// HTTP/1.1 connections of which none is lost unopened.
package struct ServedHTTP1Channel: ServerChildChannel {
    let http1: HTTP1Channel

    package init(http1: HTTP1Channel) { self.http1 = http1 }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<AcceptedConnection> {
        http1.setup(channel: channel, logger: logger).map { AcceptedConnection($0) }
    }

    package func handle(value: AcceptedConnection, logger: Logger) async {
        await value.serve { await http1.handle(value: $0, logger: logger) }
    }
}
