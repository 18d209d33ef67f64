import Foundation

/// Access tokens that a benchmark shows, in files that `wrk` reads: a line each.
struct Tokens: Sendable {
    /// Few enough for every cache.
    let seen: URL
    /// More than any cache holds.
    let fresh: URL
    let count: Int
    /// One of the seen ones.
    let one: String

    static func make(_ count: Int, system: RunningSystem, folder: URL) async throws -> Tokens {
        let parts = 4
        let all = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<parts {
                group.addTask {
                    let signer = try system.signer()
                    return try (0..<(count / parts)).map { _ in try system.accessToken(signer: signer) }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let seen = folder.appendingPathComponent("tokens-seen")
        let fresh = folder.appendingPathComponent("tokens-fresh")
        try all.prefix(100).joined(separator: "\n").write(to: seen, atomically: true, encoding: .utf8)
        try all.joined(separator: "\n").write(to: fresh, atomically: true, encoding: .utf8)
        return Tokens(seen: seen, fresh: fresh, count: all.count, one: all[0])
    }
}
