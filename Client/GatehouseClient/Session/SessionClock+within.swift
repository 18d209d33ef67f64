extension SessionClock {
    /// Runs `body`, and returns when it has ended or when the time is up, in which case `body` is cancelled and goes on
    /// as long as it likes.
    func within(_ limit: Duration, _ body: @escaping @Sendable () async -> Void) async {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let work = Task {
            await body()
            end.finish()
        }
        let alarm = Task {
            try? await sleep(for: limit)
            end.finish()
        }
        for await _ in ends {}
        work.cancel()
        alarm.cancel()
    }
}
