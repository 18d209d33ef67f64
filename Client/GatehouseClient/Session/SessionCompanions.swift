public import GatehouseContracts

/// The session's companions and the notifications sent to them.
struct SessionCompanions: Sendable {
    struct Entry: Sendable {
        let companion: any SessionCompanion
        /// The task of ``SessionCompanion/sessionBegan(_:)``.
        var beginning: Task<Void, Never>?
    }

    var entries: [Entry] = []
    /// The user of the last notified session; `nil` after it ended.
    var user: User?
    /// The last notification. The next one runs after it.
    var lastNotification: Task<Void, Never>?
}

extension GatehouseSession {
    /// Adds a companion. If a session exists, the companion is notified at once. The session retains the companion
    /// until ``remove(_:)``.
    public func add(_ companion: any SessionCompanion) {
        companions.entries.append(SessionCompanions.Entry(companion: companion))
        if let user = companions.user { beginCompanion(companions.entries.count - 1, of: user) }
    }

    /// Removes a companion. It gets no further notifications, and its ``SessionCompanion/sessionBegan(_:)`` task is
    /// cancelled.
    public func remove(_ companion: any SessionCompanion & AnyObject) {
        for entry in companions.entries where entry.companion as AnyObject === companion { entry.beginning?.cancel() }
        companions.entries.removeAll { $0.companion as AnyObject === companion }
    }

    /// Notifies the companions without waiting for them.
    func notifyBegan(_ user: User) {
        enqueue { session in await session.beginCompanions(of: user) }
    }

    /// - Returns: a task that ends when all companions have finished or timed out.
    @discardableResult
    func notifyEnded(_ reason: SignOutReason) -> Task<Void, Never> {
        enqueue { session in await session.endCompanions(for: reason) }
    }

    @discardableResult
    private func enqueue(_ notification: @escaping @Sendable (GatehouseSession) async -> Void) -> Task<Void, Never> {
        let previous = companions.lastNotification
        let task = Task {
            await previous?.value
            await notification(self)
        }
        companions.lastNotification = task
        return task
    }

    private func beginCompanions(of user: User) {
        companions.user = user
        for index in companions.entries.indices { beginCompanion(index, of: user) }
    }

    private func beginCompanion(_ index: Int, of user: User) {
        let (companion, earlier) = (companions.entries[index].companion, companions.entries[index].beginning)
        let clock = configuration.clock
        earlier?.cancel()
        companions.entries[index].beginning = Task {
            if let earlier { await clock.within(SessionCompanions.timeout) { await earlier.value } }
            await companion.sessionBegan(user)
        }
    }

    private func endCompanions(for reason: SignOutReason) async {
        companions.user = nil
        let notified = companions.entries
        for index in companions.entries.indices { companions.entries[index].beginning = nil }
        guard !notified.isEmpty else { return }
        for entry in notified { entry.beginning?.cancel() }
        await configuration.clock.within(SessionCompanions.timeout) {
            for entry in notified { await entry.beginning?.value }
        }
        await configuration.clock.within(SessionCompanions.timeout) {
            await withTaskGroup(of: Void.self) { group in
                for entry in notified { group.addTask { await entry.companion.sessionEnded(reason) } }
            }
        }
    }
}

extension SessionCompanions {
    /// The time limit for a cancelled `sessionBegan` to return, and for `sessionEnded`.
    static let timeout = Duration.seconds(3)
}

/// Work that runs alongside a session and must stop with it: synchronization, push registration, a web socket.
public protocol SessionCompanion: Sendable {
    /// A user has signed in, or a stored session has been restored. This method may run as long as the session: the
    /// session does not wait for it, and cancels its task when the session ends.
    func sessionBegan(_ user: User) async

    /// The session has ended, so requests in the user's name fail. This method is called after ``sessionBegan(_:)`` has
    /// returned, at the latest three seconds after its cancellation. After three more seconds the method is cancelled.
    func sessionEnded(_ reason: SignOutReason) async
}

/// The listeners of a session's state changes.
struct SessionListeners: Sendable {
    private var continuations: [Int: AsyncStream<SessionState>.Continuation] = [:]
    private var next = 0
    private var last: SessionState?

    mutating func add(_ continuation: AsyncStream<SessionState>.Continuation, now state: SessionState) -> Int {
        next += 1
        continuations[next] = continuation
        continuation.yield(state)
        return next
    }

    func finish() { for continuation in continuations.values { continuation.finish() } }

    mutating func remove(_ number: Int) { continuations[number] = nil }

    /// Delivers a state, unless it equals the last one.
    mutating func deliver(_ state: SessionState) {
        guard state != last else { return }
        last = state
        for continuation in continuations.values { continuation.yield(state) }
    }
}
