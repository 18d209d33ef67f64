import NIOCore

/// Connections that have had one answer each and then stay open without a word.
struct HeldConnections {
    private let channels: [NIOLoopBound<RequestChannel>]
    private let loop: any EventLoop

    static func open(_ count: Int, port: Int, bearer: String, on loop: any EventLoop) async throws -> HeldConnections {
        var channels: [NIOLoopBound<RequestChannel>] = []
        for _ in 0..<count {
            let answered = loop.makePromise(of: Void.self)
            let channel: NIOLoopBound<RequestChannel>
            do {
                channel = try await RequestChannel.connect(port: port, bearer: bearer, on: loop) { _, result in
                    answered.completeWith(result.mapError { $0 as any Error })
                }
            } catch {
                answered.fail(error)
                throw error
            }
            loop.execute { channel.value.ask() }
            try await answered.futureResult.get()
            channels.append(channel)
        }
        return HeldConnections(channels: channels, loop: loop)
    }

    func close() async throws {
        try await loop.submit { for channel in channels { channel.value.close() } }.get()
    }
}
