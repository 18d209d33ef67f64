import NIOCore
import NIOPosix

/// Listens and accepts no client, so that connecting to it neither succeeds nor fails.
struct DeafUpstream: Sendable {
    private let server: any Channel
    /// Fill the queue of those who are to be accepted.
    private let queued: [any Channel]

    static func start() async throws -> DeafUpstream {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 0)
            .serverChannelOption(.autoRead, value: false)
            .bind(host: "127.0.0.1", port: 0).get()
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.milliseconds(500))
        var queued: [any Channel] = []
        // One that came late may be the machine's fault.
        var failures = 0
        while failures < 3 {
            if let channel = try? await bootstrap.connect(to: server.localAddress!).get() {
                queued.append(channel)
                failures = 0
            } else {
                failures += 1
            }
            if queued.count > 100 { throw CanBeHeard() }
        }
        return DeafUpstream(server: server, queued: queued)
    }

    private struct CanBeHeard: Error {}

    var port: Int { server.localAddress!.port! }

    func stop() async {
        for channel in queued + [server] { try? await channel.close().get() }
    }
}
