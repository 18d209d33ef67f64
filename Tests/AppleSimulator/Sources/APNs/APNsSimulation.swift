import Foundation
import Synchronization

/// What the connections of the simulated APNs share, and tests change.
final class APNsSimulation: Sendable {
    private struct State {
        /// Seconds that the clock is ahead.
        var advance = 0
        var keys: [String: ProviderKey] = [:]
        /// Whether a key that is not among ``keys`` is accepted without verification.
        var acceptsUnknownKeys = true
        /// The topics that device tokens were declared for.
        var topics: [String: String] = [:]
        /// Ends what a connection holds back.
        var releases: [Int: @Sendable () -> Void] = [:]
        var connections = 0
    }

    let answers = PlannedPushes<APNsAnswer>()
    let faults = PlannedPushes<APNsFault>()
    let pushes: APNsPushLog
    let channels: APNsChannels
    let log: RequestLog
    private let state = Mutex(State())

    init(log: RequestLog, pushes: APNsPushLog = APNsPushLog(), channels: APNsChannels = APNsChannels()) {
        (self.log, self.pushes, self.channels) = (log, pushes, channels)
    }

    /// Continues with the pushes and channels of the simulation that wrote the file. Keys, device tokens, answers,
    /// faults, the clock and the count of connections begin anew.
    ///
    /// - Parameter path: created if there is no file.
    /// - Throws: ``APNsLogFileError``.
    convenience init(log: RequestLog, logFile path: String) throws {
        let file = try APNsLogFile(path: path)
        self.init(log: log, pushes: APNsPushLog(file: file), channels: APNsChannels(file: file))
        try file.readRecords { record in
            switch record {
            case .push(let entry): try pushes.restore(entry)
            case .channel(let app, let id, let policy): channels.restore(id, app: app, policy: policy)
            }
        }
    }

    // MARK: - Clock

    /// Seconds since 1970, by the clock that ``advance(by:)`` moves.
    var now: Int { Int(Date().timeIntervalSince1970) + state.withLock { $0.advance } }

    func advance(by seconds: Int) {
        state.withLock { $0.advance += seconds }
    }

    // MARK: - Keys and device tokens

    /// - Parameter key: nil revokes the key.
    func register(_ key: ProviderKey?, team: String, identifier: String) {
        state.withLock { $0.keys["\(team)/\(identifier)"] = key }
    }

    func key(of team: String, _ identifier: String) -> ProviderKey? {
        state.withLock { $0.keys["\(team)/\(identifier)"] ?? ($0.acceptsUnknownKeys ? .unverified : nil) }
    }

    /// From now on every other key is refused, as by Apple.
    func refuseUnknownKeys() {
        state.withLock { $0.acceptsUnknownKeys = false }
    }

    /// - Parameter topic: nil: any.
    func declare(_ token: String, for topic: String?) {
        state.withLock { $0.topics[token] = topic }
    }

    func topic(of token: String) -> String? {
        state.withLock { $0.topics.isEmpty ? nil : $0.topics[token] }
    }

    // MARK: - Faults

    /// - Parameter token: nil for every fault.
    func endFaults(for token: String?) {
        faults.remove(for: token)
        for release in state.withLock({ Array($0.releases.values) }) { release() }
    }

    // MARK: - Connections

    /// Counts from 1.
    func nextConnection() -> Int {
        state.withLock { state in
            state.connections += 1
            return state.connections
        }
    }

    func opened(_ connection: Int, release: @escaping @Sendable () -> Void) {
        state.withLock { $0.releases[connection] = release }
    }

    func closed(_ connection: Int) {
        state.withLock { $0.releases[connection] = nil }
    }

    var connections: (open: Int, total: Int) {
        state.withLock { ($0.releases.count, $0.connections) }
    }
}
