public import Foundation
import NIOCore
import NIOPosix

/// Sends bytes unchanged to a server. Returns all that it answers until it closes the connection, until `isComplete`
/// holds, or until the timeout.
///
/// - Parameter pieces: written one after the other, each in its own write.
/// - Returns: the answer, and whether the server closed the connection.
public func rawExchange(
    _ url: URL, _ pieces: [String], timeout: Duration = .seconds(10),
    until isComplete: @escaping @Sendable (String) -> Bool = { _ in false }
) async throws -> (answer: String, isClosed: Bool) {
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .channelOption(.allowRemoteHalfClosure, value: true)
        .connect(host: url.host ?? "127.0.0.1", port: url.port ?? 80) { channel in
            channel.eventLoop.makeCompletedFuture {
                try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
            }
        }
    return try await channel.executeThenClose { inbound, outbound in
        let received = Received()
        // A server that answers early may close the connection before everything is sent.
        let writer = Task {
            for piece in pieces { try await outbound.write(ByteBuffer(string: piece)) }
        }
        let isClosed = try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                do {
                    for try await part in inbound {
                        await received.append(part)
                        if isComplete(await received.text) { return false }
                    }
                } catch is IOError {}
                return true
            }
            group.addTask {
                try await Task.sleep(for: timeout)
                return false
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
        writer.cancel()
        return (await received.text, isClosed)
    }
}

private actor Received {
    private var buffer = ByteBuffer()

    var text: String { String(buffer: buffer) }

    func append(_ part: ByteBuffer) {
        buffer.writeImmutableBuffer(part)
    }
}
