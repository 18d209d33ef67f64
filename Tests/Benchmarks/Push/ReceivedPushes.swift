import Foundation

/// The pushes that the simulated APNs receives, in order.
struct ReceivedPushes {
    struct Push: Decodable {
        /// Milliseconds since 1970, by the clock of this machine.
        var time: Double
        var token: String
        var collapseId: String?
    }

    private struct Page: Decodable {
        var pushes: [Push]
        var next: Int
        var lost: Int
    }

    let push: PushBenchmark
    private var cursor = 0

    init(to push: PushBenchmark) { self.push = push }

    /// The next pushes, at most `limit`. Empty at the end.
    mutating func next(_ limit: Int = 10_000, mayHaveLost: Bool = false) async throws -> [Push] {
        let body = try await push.send(
            "GET", "/simulator/apns-pushes?after=\(cursor)&limit=\(limit)", String?.none, to: "APPLE_SIMULATOR_URL")
        let page = try JSONDecoder().decode(Page.self, from: body)
        guard page.lost == 0 || mayHaveLost else {
            throw BenchmarkError("the simulator keeps too few pushes for so fast a machine")
        }
        cursor = page.next
        return page.pushes
    }

    mutating func skipToEnd() async throws {
        while try await !next(mayHaveLost: true).isEmpty {}
    }
}
