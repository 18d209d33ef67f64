package import Foundation
import GatehouseLimits
import GatehouseServiceKit

/// Carries out the outbox's tasks by the handlers that features register. A task may be carried out twice; none is
/// removed before it has been carried out.
///
/// A process claims only tasks that it has a handler for. A task of a newer version waits for a replica of that
/// version.
package struct OutboxDelivery: Sendable {
    let outbox: OutboxStore
    /// In the order of the handlers.
    let destinations: [OutboxDestination]
    /// Sent when this process has changed when a task is due: it may be before the outbox is read next.
    let retimed = Signal()
    private let kinds: [OutboxDestination: [String]]
    private let handlers: [OutboxHandler.Key: OutboxHandler]

    /// - Parameter handlers: at most one for each kind and destination.
    package init(outbox: OutboxStore, handlers: [OutboxHandler]) {
        self.outbox = outbox
        let keyed = handlers.flatMap { handler in handler.keys.map { ($0, handler) } }
        self.handlers = Dictionary(uniqueKeysWithValues: keyed)
        kinds = Dictionary(grouping: keyed.map(\.0), by: \.destination).mapValues { $0.map(\.kind) }
        destinations = keyed.map(\.0.destination).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// Claims due tasks for one destination.
    /// - Parameter userID: claims only the tasks about this user.
    package func claim(
        for destination: OutboxDestination, limit: Int, about userID: UUID? = nil
    ) async throws -> [OutboxEntry] {
        try await outbox.claim(for: destination, kinds: kinds[destination] ?? [], limit: limit, about: userID)
    }

    /// The destinations that have tasks, and how long until the first of them is due.
    func waits() async throws -> [OutboxDestination: Duration] {
        try await outbox.waits(of: handlers.keys.map { ($0.destination, $0.kind) })
    }

    /// All tasks that wait for each destination, also those without a handler.
    func backlog() async throws -> [OutboxDestination: OutboxBacklog] {
        try await outbox.backlog(of: destinations)
    }

    func postpone(_ entry: OutboxEntry, seconds: Double) async throws {
        try await outbox.postpone(entry, seconds: seconds)
        retimed.send()
    }

    /// Also called by requests whose change is committed. Their deadline does not apply: the calls have their own
    /// time-outs, and what was carried out has to be recorded.
    /// - Throws: ``UnreadableOutboxTask``; what the handler throws.
    package func deliver(_ entry: OutboxEntry) async throws {
        guard let handler = handlers[OutboxHandler.Key(kind: entry.kind, destination: entry.destination)] else {
            throw UnreadableOutboxTask(reason: "no handler for \(entry.destination.name)")
        }
        try await Deadline.with(nil) {
            switch try await handler.carryOut(entry) {
            case .done:
                try await outbox.complete(entry)
            case .next(let task, let userID):
                try await outbox.replace(entry, by: task, about: userID)
                retimed.send()
            }
        }
    }
}

/// What follows a task that was carried out.
package enum OutboxOutcome: Sendable {
    /// The task is removed, unless a later change was added to it in between.
    case done
    /// The same entry continues with another task.
    /// - Parameter about: the user; `nil` where the rest of the task does not need the user's id.
    case next(OutboxTask, about: UUID?)
}

/// Carries out one kind of task. A feature registers its handlers with ``OutboxDelivery``.
package struct OutboxHandler: Sendable {
    struct Key: Hashable, Sendable {
        var kind: String
        var destination: OutboxDestination
    }

    fileprivate let keys: [Key]
    fileprivate let carryOut: @Sendable (OutboxEntry) async throws -> OutboxOutcome

    /// - Parameters:
    ///   - destinations: the destinations of the kind's tasks.
    ///   - carryOut: is repeated when it throws.
    package init<Payload: OutboxPayload>(
        _: Payload.Type, for destinations: OutboxDestination...,
        carryOut: @escaping @Sendable (Payload, OutboxEntry) async throws -> OutboxOutcome
    ) {
        keys = destinations.map { Key(kind: Payload.kind, destination: $0) }
        self.carryOut = { entry in try await carryOut(entry.payload(), entry) }
    }
}
