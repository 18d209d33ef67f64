import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import GatehouseServiceKit

@Suite struct AcceptedConnectionTests {
    /// Left to itself, NIO would end the process.
    @Test func oneThatNobodyServesIsClosed() async throws {
        let channel = NIOAsyncTestingChannel()
        let http1 = ServedHTTP1Channel(http1: HTTP1Channel { _, _, _ in })
        try await channel.testingEventLoop.executeInContext {
            _ = http1.setup(channel: channel, logger: Logger(label: "test"))
        }
        try await channel.closeFuture.get()
    }
}
