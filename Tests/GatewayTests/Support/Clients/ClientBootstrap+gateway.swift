import NIOCore
import NIOPosix
import NIOSSL

extension ClientBootstrap {
    /// Connects to a port of this machine, with `handler` for what comes.
    ///
    /// - Parameter tls: `nil`: without TLS.
    func connect(port: Int, tls: NIOSSLContext?, handler: some ChannelHandler & Sendable) async throws -> any Channel {
        try await channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                if let tls {
                    try channel.pipeline.syncOperations.addHandler(
                        NIOSSLClientHandler(context: tls, serverHostname: "localhost"))
                }
                try channel.pipeline.syncOperations.addHandler(handler)
            }
        }
        .connect(host: "127.0.0.1", port: port).get()
    }
}
