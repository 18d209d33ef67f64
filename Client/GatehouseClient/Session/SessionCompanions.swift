public import Contracts

/// Those that run beside a session, and what they have been told.
struct SessionCompanions: Sendable {
    struct Entry: Sendable {
        let companion: any SessionCompanion
        /// What it does since the session began.
        var beginning: Task<Void, Never>?
    }

    var entries: [Entry] = []
    /// Of whose session they have been told last; `nil` since it ended.
    var user: User?
    /// The last thing that they are told; the next one follows it.
    var telling: Task<Void, Never>?
}

extension Session {
    /// Something that begins and ends with the session. It hears at once of a session that is there. The session keeps it
    /// until it is removed.
    public func add(_ companion: any SessionCompanion) {
        companions.entries.append(SessionCompanions.Entry(companion: companion))
        if let user = companions.user { beginCompanion(companions.entries.count - 1, of: user) }
    }

    /// It hears nothing more. What it does since the session began is cancelled.
    public func remove(_ companion: any SessionCompanion & AnyObject) {
        for entry in companions.entries where entry.companion as AnyObject === companion { entry.beginning?.cancel() }
        companions.entries.removeAll { $0.companion as AnyObject === companion }
    }

    /// Nobody waits for what companions do then.
    func tellBegan(_ user: User) {
        tell { session in await session.beginCompanions(of: user) }
    }

    /// - Returns: what ends when all have been told, or their time is up.
    @discardableResult
    func tellWillEnd(_ reason: SignOutReason) -> Task<Void, Never> {
        tell { session in await session.endCompanions(for: reason) }
    }

    @discardableResult
    private func tell(_ what: @escaping @Sendable (Session) async -> Void) -> Task<Void, Never> {
        let previous = companions.telling
        let task = Task {
            await previous?.value
            await what(self)
        }
        companions.telling = task
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
            if let earlier { await clock.within(SessionCompanions.patience) { await earlier.value } }
            await companion.sessionBegan(user)
        }
    }

    private func endCompanions(for reason: SignOutReason) async {
        companions.user = nil
        let told = companions.entries
        for index in companions.entries.indices { companions.entries[index].beginning = nil }
        guard !told.isEmpty else { return }
        for entry in told { entry.beginning?.cancel() }
        await configuration.clock.within(SessionCompanions.patience) {
            for entry in told { await entry.beginning?.value }
        }
        await configuration.clock.within(SessionCompanions.patience) {
            await withTaskGroup(of: Void.self) { group in
                for entry in told { group.addTask { await entry.companion.sessionWillEnd(reason) } }
            }
        }
    }
}

extension SessionCompanions {
    /// So long the end of a session waits for what a companion has begun, and so long for what it does at the end.
    static let patience = Duration.seconds(3)
}

/// What runs beside a session and has to stop with it: synchronisation, push registration, a web socket.
public protocol SessionCompanion: Sendable {
    /// Somebody has signed in, or a stored session has been restored. It may go on for as long as the session does: nobody
    /// waits for it, and its task is cancelled when the session ends.
    func sessionBegan(_ user: User) async

    /// The session ends. It is called when ``sessionBegan(_:)`` has returned, three seconds after that was cancelled at
    /// the latest. Where the user ends the session, requests in their name are still answered here; after three more
    /// seconds it is cancelled, and the session ends without it.
    func sessionWillEnd(_ reason: SignOutReason) async
}

/// Those who are told of a session's changes.
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

    /// Tells of a state, once.
    mutating func tell(_ state: SessionState) {
        guard state != last else { return }
        last = state
        for continuation in continuations.values { continuation.yield(state) }
    }
}
