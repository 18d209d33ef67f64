import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import Logging
import Postgres
import ServiceKitPostgres
import ServiceLifecycle
import Synchronization

/// Writes when devices were last seen: the registrations of a second that change nothing, in one statement.
///
/// Until then, or for good if the process dies, Apple's answer that a token is gone may count as newer.
final class LastSeenWriter: Service {
    private struct Device: Hashable {
        var bucket: Bucket
        var id: UUID
    }

    /// The time between two statements.
    private static let interval = Duration.seconds(1)
    /// Devices of a statement.
    private static let batch = 1000
    /// Devices that wait at most. More are left out.
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
        add([(Device(bucket: bucket, id: device), time)])
    }

    private func add(_ devices: some Sequence<(key: Device, value: Date)>) {
        let wasEmpty = seen.withLock { seen in
            let wasEmpty = seen.isEmpty
            for (device, time) in devices where seen.count < Self.capacity || seen[device] != nil {
                seen[device] = max(time, seen[device] ?? time)
            }
            return wasEmpty
        }
        if wasEmpty { notes.send() }
    }

    /// Writes until the service shuts down, and then what the last requests have noted.
    func run() async {
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            let count = notes.count
            if seen.withLock(\.isEmpty) { await notes.wait(after: count, until: .now + .seconds(3600)) }
            await cancelWhenGracefulShutdown { try? await Task.sleep(for: Self.interval) }
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

    /// Writes what was noted. What could not be written is kept, and delays nothing else. What PostgreSQL refuses is
    /// left out.
    func flush() async throws(PostgresError) {
        var failure: PostgresError?
        let noted = seen.withLock { exchange(&$0, with: [:]) }
        // In the order of the senders, which lock devices too.
        let sorted = noted.sorted { one, other in
            one.key.bucket == other.key.bucket
                ? one.key.id.precedes(other.key.id) : one.key.bucket.rawValue < other.key.bucket.rawValue
        }
        for batch in sorted.parts(of: Self.batch) {
            let left = await writeSplitting(batch) { (part) throws(PostgresError) in
                try await database.query(
                    """
                    SELECT count(see_device(bucket, device, at))
                    FROM unnest(
                        \(part.map(\.key.bucket.rawValue)), \(part.map(\.key.id)), \(part.map(\.value))
                    ) AS seen (bucket, device, at)
                    """)
            } refused: { device, error in
                logger.error(
                    "when a device was seen cannot be written", error: error,
                    metadata: ["device_id": "\(device.key.id.uuidString.lowercased())"])
            }
            if let left {
                add(left.rest)
                failure = left.failure
            }
        }
        if let failure { throw failure }
    }
}
