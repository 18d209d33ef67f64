// Pure: no I/O, no clock.

package import Foundation

/// A task that calls another service or a third party. Features declare their tasks as static members.
package struct OutboxTask: Sendable {
    let destination: OutboxDestination
    private let payload: any OutboxPayload

    package init(_ payload: some OutboxPayload, for destination: OutboxDestination) {
        self.payload = payload
        self.destination = destination
    }

    /// The name by which statements, handlers and logs find tasks of this kind.
    package var kind: String { type(of: payload).kind }

    /// The stored form.
    package func json() throws -> String { try Self.json(payload) }

    private static func json<Payload: OutboxPayload>(_ payload: Payload) throws -> String {
        String(decoding: try JSONEncoder().encode([Payload.key: payload]), as: UTF8.self)
    }
}

/// What the handler of a kind of task has to know. It is stored as a JSON object with one member.
package protocol OutboxPayload: Codable, Sendable {
    /// The name of the kind.
    static var kind: String { get }
    /// The name of the object's member.
    static var key: String { get }
}

/// The receiver of an outbox task. Each destination has its own queue, so that a slow or unavailable destination does
/// not delay the others.
package struct OutboxDestination: Hashable, Sendable {
    let name: String

    package init(name: String) {
        self.name = name
    }

    package static let tokens = Self(name: "tokens")
    package static let devices = Self(name: "devices")
    package static let mail = Self(name: "mail")
    /// Text messages.
    package static let phone = Self(name: "phone")
}

/// A task in the outbox.
package struct OutboxEntry: Sendable {
    package var id: UUID
    /// `nil` when the task does not need the user, or no longer does.
    package var userID: UUID?
    var kind: String
    var destination: OutboxDestination
    /// The task's payload in its stored form.
    var json: String
    package var sealed: Data?
    /// Increases when a later change is added to the same entry.
    var revision: Int64
    /// How often its delivery was begun.
    var attempts: Int
    package var createdAt: Date

    /// - Throws: where this version cannot read the payload, because a replica of another version enqueued the task.
    package func payload<Payload: OutboxPayload>(_: Payload.Type = Payload.self) throws(UnreadableOutboxTask) -> Payload
    {
        let payloads: [String: Payload]
        do {
            payloads = try JSONDecoder().decode([String: Payload].self, from: Data(json.utf8))
        } catch {
            throw UnreadableOutboxTask(reason: "\(error)")
        }
        guard let payload = payloads[Payload.key] else {
            throw UnreadableOutboxTask(reason: "\(Payload.key) is absent")
        }
        return payload
    }
}

/// The payload of a task cannot be read by this version.
package struct UnreadableOutboxTask: Error {
    var reason: String
}

/// When a failed task is retried, and the outbox is read.
package enum OutboxSchedule {
    /// Seconds until the task is retried. The delay doubles from half a second to five minutes, and has jitter, so that
    /// tasks that failed together are not retried together.
    /// - Parameters:
    ///   - deliveries: how often the task's delivery was begun.
    ///   - spread: from 0 to 1, at random.
    package static func delay(after deliveries: Int, spread: Double) -> Double {
        let delay = min(0.5 * Double(1 << min(max(deliveries - 1, 0), 12)), 300)
        return delay * (0.75 + 0.5 * spread)
    }

    /// How often the outbox is read before a task is due: for tasks of a process that died before it woke up its
    /// worker.
    static let rest = Duration.seconds(3)
    /// How often the outbox is read while a task is due: for that of a queue that could not be read.
    static let retry = Duration.seconds(1)

    /// How long until the outbox is read again without a wake-up.
    /// - Parameter wait: how long until the first task is due; `nil` where there is no task.
    static func pause(before wait: Duration?) -> Duration {
        wait == .zero ? retry : min(wait ?? rest, rest)
    }
}

/// The permits of one destination's tasks that are carried out concurrently.
struct OutboxPermits: Sendable {
    static let limit = 16

    private var taken = 0
    /// Whether more tasks may be due than were claimed.
    private var hasMore = false

    /// The number of free permits. Where there is none, ``release()`` says when to claim again.
    mutating func findFree() -> Int {
        let free = Self.limit - taken
        hasMore = free == 0
        return free
    }

    /// - Parameter limit: the most tasks that were asked for.
    mutating func take(_ count: Int, of limit: Int) {
        taken += count
        if count == limit { hasMore = true }
    }

    /// A task has ended.
    /// - Returns: whether to claim more tasks now.
    mutating func release() -> Bool {
        taken -= 1
        defer { hasMore = false }
        return hasMore
    }
}
