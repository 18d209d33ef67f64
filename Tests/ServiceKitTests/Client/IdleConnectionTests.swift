import AsyncHTTPClient
import GatehouseServiceKit
import NIOCore
import Testing

@Suite struct IdleConnectionTests {
    /// A connection that was used while the callee drains was asked to be closed; one that was not is let go by then.
    @Test func noCallerKeepsAConnectionForAsLongAsACalleeDrains() {
        #expect(Draining.longestIdle < Draining.delay)
        let idle = HTTPClient.Configuration.gatehouse().connectionPool.idleTimeout
        #expect(idle < TimeAmount(Draining.delay))
    }
}
