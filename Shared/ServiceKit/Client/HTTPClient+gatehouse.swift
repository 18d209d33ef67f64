public import AsyncHTTPClient
import NIOCore

extension HTTPClient.Configuration {
    /// For calls between services and to Apple: no redirects, and a callee that is away is known within a second.
    public static func gatehouse() -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow, timeout: .init(connect: .seconds(1)), decompression: .disabled)
        // A request never meets a connection that is being closed.
        configuration.connectionPool.idleTimeout = TimeAmount(Draining.longestIdle)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        // Whether to try again is decided by the caller, who knows another replica.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.limitOverhead()
        return configuration
    }
}
