/// The priority of the thread that hashes a password.
enum HashPriority: Sendable, Equatable {
    /// That of the process.
    case usual
    case lower
}

/// Which passwords are hashed, in which order, and which are refused: the rules of ``PasswordHasher``, without threads
/// and clock.
///
/// A request is admitted if its hash is expected to be ready early enough before its deadline for the steps that follow
/// it. The expected wait is the number of hashes before it, divided by the threads, times the time of a hash. The time
/// of a hash is a moving average. While a thread is free each request is admitted, so a single client on a slow machine
/// gets through, and the average follows a machine that has become faster.
///
/// The oldest request is hashed first. If it has waited twice as long as was expected at its admission, the machine is
/// slower than the average says, and all would be late. Then the newest is hashed first, because it has the most time
/// left. A request that can no longer be ready in time is refused and not hashed.
///
/// One password at a time, behind which no other waits, is hashed at the usual priority. At the lower one, a single
/// client on a busy machine would wait for all of the machine's other work, until its deadline has passed.
struct HashQueueRules<Request: Sendable>: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The requests whose wait is over.
    struct Effects: Sendable {
        var started: [(request: Request, priority: HashPriority)] = []
        var refused: [Request] = []
    }

    private struct Waiting: Sendable {
        var request: Request
        var admittedAt: Instant
        var expectedWait: Duration
        /// `nil`: the caller waits without limit.
        var deadline: Instant?
        var reserve: Duration
    }

    /// The time of a hash until one has been measured.
    static var firstHashTime: Duration { .milliseconds(50) }
    static var longestHashTime: Duration { .seconds(10) }
    /// The part of the average that each measurement contributes.
    private static var weight: Int { 4 }
    /// Time reserved for the steps after a hash: transactions, and the creation of the session.
    static var longestReserve: Duration { .seconds(1) }
    /// The most of a request's time that is reserved.
    private static var reservedPart: Int { 4 }
    /// A wait is never old before this.
    static var shortestOldWait: Duration { .milliseconds(250) }

    private let threads: Int
    /// The most passwords that are hashed or wait.
    private let capacity: Int
    private(set) var running = 0
    private var isUsualPriorityTaken = false
    /// In the order of their admission.
    private var queue: [Waiting] = []
    private(set) var hashTime = Self.firstHashTime

    /// - Parameters:
    ///   - threads: concurrent hashes, at least 1.
    ///   - permits: how many more may wait.
    init(threads: Int, permits: Int) {
        self.threads = threads
        capacity = threads + permits
    }

    var waiting: Int { queue.count }

    /// When ``expire(at:)`` refuses the next request, if nothing else happens.
    var nextExpiry: Instant? {
        queue.lazy.compactMap { $0.deadline.map { $0 - hashTime } }.min()
    }

    /// Whether a request would be admitted.
    func admits(at now: Instant, until deadline: Instant?) -> Bool {
        guard running + waiting < capacity else { return false }
        guard let deadline else { return true }
        if running < threads, queue.isEmpty { return deadline > now }
        return now + expectedWait + hashTime + Self.reserve(at: now, until: deadline) < deadline
    }

    /// Admits the request or refuses it.
    mutating func admit(_ request: Request, at now: Instant, until deadline: Instant?) -> Effects {
        guard admits(at: now, until: deadline) else { return Effects(refused: [request]) }
        queue.append(
            Waiting(
                request: request, admittedAt: now, expectedWait: expectedWait, deadline: deadline,
                reserve: deadline.map { Self.reserve(at: now, until: $0) } ?? .zero))
        return start(at: now)
    }

    /// A hash has ended.
    /// - Parameters:
    ///   - priority: with which it was started.
    ///   - time: how long it took; `nil` where there was no hash.
    mutating func ended(_ priority: HashPriority, after time: Duration?, at now: Instant) -> Effects {
        running -= 1
        if priority == .usual { isUsualPriorityTaken = false }
        if let time {
            hashTime += (min(max(time, .zero), Self.longestHashTime) - hashTime) / Self.weight
        }
        return start(at: now)
    }

    /// Refuses the requests that can no longer be ready before their deadlines.
    mutating func expire(at now: Instant) -> Effects {
        Effects(refused: remove { [hashTime] in now + hashTime >= $0.deadline })
    }

    /// The rounds of hashes before a new request's, times the time of each.
    private var expectedWait: Duration {
        hashTime * ((running + waiting) / threads)
    }

    private mutating func start(at now: Instant) -> Effects {
        var effects = Effects()
        guard running < threads else { return effects }
        // With a thread for each, the average decides nothing: it may be that of a machine that was slower.
        let hasThreadForEach = queue.count <= threads - running
        effects.refused = remove { [hashTime] waiting in
            now + (hasThreadForEach ? .zero : hashTime + waiting.reserve) >= waiting.deadline
        }
        while running < threads, !queue.isEmpty {
            // A request without a deadline cannot be late, so that it keeps its place.
            let next = isOld(at: now) && queue[0].deadline != nil ? queue.removeLast() : queue.removeFirst()
            running += 1
            let priority = isUsualPriorityTaken || !queue.isEmpty ? HashPriority.lower : .usual
            if priority == .usual { isUsualPriorityTaken = true }
            effects.started.append((next.request, priority))
        }
        return effects
    }

    private func isOld(at now: Instant) -> Bool {
        guard let oldest = queue.first else { return false }
        return now - oldest.admittedAt > max(oldest.expectedWait * 2, Self.shortestOldWait)
    }

    /// Removes the requests with a deadline that are late.
    private mutating func remove(_ isLate: ((deadline: Instant, reserve: Duration)) -> Bool) -> [Request] {
        var late: [Request] = []
        queue.removeAll { waiting in
            guard let deadline = waiting.deadline, isLate((deadline, waiting.reserve)) else { return false }
            late.append(waiting.request)
            return true
        }
        return late
    }

    private static func reserve(at now: Instant, until deadline: Instant) -> Duration {
        min(longestReserve, (deadline - now) / reservedPart)
    }
}
