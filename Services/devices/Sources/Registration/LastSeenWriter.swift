import Contracts
import Foundation
import Logging
import Postgres
import ServiceKitPostgres
import ServiceLifecycle
import Synchronization

/// Writes when devices were last seen: the registrations of a second that change nothing, in one statement.
///
/// A process that dies loses the last second's. Apple's answer that a token is gone then counts as newer than them.
final class LastSeenWriter: Service {
    private struct Device: Hashable {
        var bucket: Bucket
        var id: UUID
    }

    /// The time between two statements.
    private static let pace = Duration.seconds(1)
    /// Devices of a statement.
    private static let batch = 1000
    /// Devices that wait at most. Each one's registration was read from PostgreSQL before, so few come while it is down.
    private static let capacity = 100_000

    private let database: PostgresPool
    private let logger: Logger
    private let seen = Mutex<[Device: Date]>([:])
    private let notes = Signal()

    init(database: PostgresPool, logger: Logger) {
        self.database = database
        self.logger = logger
    }

    /// - Parameter time: by PostgreSQL's clock.
    func note(_ device: UUID, in bucket: Bucket, at time: Date) {
        let isFirst = seen.withLock { seen in
            guard seen.count < Self.capacity else { return false }
            seen[Device(bucket: bucket, id: device)] = time
            return seen.count == 1
        }
        if isFirst { notes.send() }
    }

    /// Writes until the service shuts down, and then what the last requests have noted.
    func run() async {
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            let count = notes.count
            if seen.withLock(\.isEmpty) { await notes.wait(after: count, until: .now + .seconds(3600)) }
            await cancelWhenGracefulShutdown { try? await Task.sleep(for: Self.pace) }
            await flushOrLog()
        }
        await flushOrLog()
    }

    private func flushOrLog() async {
        do {
            try await flush()
        } catch {
            logger.warning("when devices were seen could not be written", error: error)
        }
    }

    /// Writes what was noted. What could not be written is kept.
    func flush() async throws(PostgresError) {
        let noted = seen.withLock { exchange(&$0, with: [:]) }
        // In the order of the senders, which lock devices too.
        var rest = noted.sorted { one, other in
            one.key.bucket == other.key.bucket
                ? one.key.id.precedes(other.key.id) : one.key.bucket.rawValue < other.key.bucket.rawValue
        }[...]
        while !rest.isEmpty {
            let batch = rest.prefix(Self.batch)
            do throws(PostgresError) {
                try await database.query(
                    """
                    SELECT count(see_device(bucket, device, at))
                    FROM unnest(
                        \(batch.map(\.key.bucket.rawValue)), \(batch.map(\.key.id)), \(batch.map(\.value))
                    ) AS seen (bucket, device, at)
                    """)
            } catch {
                seen.withLock { seen in
                    for (device, time) in rest { seen[device] = max(time, seen[device] ?? time) }
                }
                throw error
            }
            rest = rest.dropFirst(Self.batch)
        }
    }
}
