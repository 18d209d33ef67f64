import CArgon2
import Crypto
import Foundation
import GatehouseBytes
import GatehouseInstruments
import GatehouseLimits
package import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseThreads
import NIOPosix
import Sealing
import ServiceLifecycle
import Synchronization

/// Hashes and verifies passwords on its own threads.
///
/// A flood of sign-ins must not overload the service: all threads but one have a lower priority than the machine's
/// other work. ``HashQueueRules`` decide which requests are admitted, and on which thread.
package final class PasswordHasher: Service, Sendable {
    private typealias Rules = HashQueueRules<CheckedContinuation<HashPriority?, Never>>

    private let threads: NIOThreadPool
    private let usualThread = NIOThreadPool(numberOfThreads: 1)
    private let lowerPriority = LowerPriority()
    private let queue: Mutex<Rules>
    /// Whether a task refuses the requests whose deadlines come too close.
    private let isExpiring = Atomic(false)
    private let pepper: KeyRing
    private let parameters: Argon2Parameters
    private let foreign: ForeignHashing
    private let now: @Sendable () -> ContinuousClock.Instant
    /// The hash of no password. A sign-in without an account is verified against it.
    private let decoy: PasswordHash
    private let refusals = Counter(
        "identity_password_hash_refused_total",
        help: "Passwords that were not hashed because the queue was full or too slow for the request's deadline.")
    private let duration = DurationHistogram("identity_password_hash_seconds", help: "How long a hash takes.")
    private let waiting: Gauge
    /// Yields after hashes.
    private let hashed = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    /// - Parameters:
    ///   - threads: concurrent hashes.
    ///   - queue: how many more may wait.
    init(
        threads: Int, queue: Int, pepper: KeyRing, parameters: Argon2Parameters = .floor,
        foreign: ForeignHashing = ForeignHashing(), metrics: (any MetricsFactory)? = nil,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        waiting = Gauge(
            "identity_password_hashes_waiting", help: "Passwords that wait for a hashing thread.",
            factory: metrics)
        self.threads = NIOThreadPool(numberOfThreads: threads)
        self.queue = Mutex(Rules(threads: threads, permits: queue))
        self.pepper = pepper
        self.parameters = parameters
        self.foreign = foreign
        self.now = now
        self.decoy = PasswordHash(
            parameters: parameters, pepperID: pepper.current.id, salt: .random(count: PasswordHash.saltLength),
            hash: .random(count: PasswordHash.hashLength))
        self.threads.start()
        usualThread.start()
    }

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            for await _ in self.hashed.stream {
                repeat {
                    try await Task.sleep(for: .seconds(2))
                    HashMemory.shared.trim(idleFor: .seconds(2))
                } while !HashMemory.shared.isEmpty
            }
        }
        try await stop()
    }

    /// Ends the threads when the hashes in progress are done.
    package func stop() async throws {
        try await threads.shutdownGracefully()
        try await usualThread.shutdownGracefully()
    }

    /// Refuses a request that would not be hashed in time, before anything is read or looked up for it.
    /// - Throws: `UNAVAILABLE`.
    package func requireRoom() throws(Problem) {
        guard queue.withLock({ $0.admits(at: now(), until: Deadline.current?.instant) }) else { throw refusal() }
    }

    /// The PHC string to store for a password.
    /// - Throws: `UNAVAILABLE` when there is no room or the current deadline passes first.
    package func hash(_ password: Password) async throws -> String {
        let salt = [UInt8].random(count: PasswordHash.saltLength)
        var stored = PasswordHash(parameters: parameters, pepperID: pepper.current.id, salt: salt, hash: [])
        let input = keyed(password, by: pepper.current.secret)
        stored.hash = try await run { [parameters] in
            Argon2.hash(input, salt: salt, parameters: parameters, length: PasswordHash.hashLength)
        }
        return stored.phcString
    }

    /// Whether the password matches the stored hash, at least in the part that the hash depends on.
    ///
    /// - Throws: as ``compare(_:with:)``.
    func verify(_ password: Password, against stored: String?) async throws -> Bool {
        try await compare(password, with: stored) != .wrong
    }

    /// Compares the password with a stored hash, ours or another system's. Without a readable hash the same amount of
    /// work is done, because response time would reveal which accounts exist.
    ///
    /// - Throws: ``UnknownPepper`` and what ``ForeignHashing`` throws, because the password may be right.
    func compare(_ password: Password, with text: String?) async throws -> PasswordComparison {
        let stored = text.flatMap { PasswordHash($0) }
        if stored == nil, let hash = text.flatMap({ ForeignHash($0) }) {
            return try await run { [foreign] in try foreign.compare(password, hash) }
        }
        if let id = stored?.pepperID, pepper[id] == nil { throw UnknownPepper(id: id) }
        let against = stored ?? decoy
        let forms = inputs(password, as: against)
        // One admission for both forms of the password.
        let isRight = try await run { () -> Bool? in
            for input in forms {
                let digest = Argon2.hash(
                    input, salt: against.salt, parameters: against.parameters, length: against.hash.count)
                guard let digest else { return nil }
                if constantTimeEqual(digest, against.hash) { return true }
            }
            return false
        }
        return isRight && stored != nil ? .right : .wrong
    }

    /// Whether a new hash would have other parameters or another pepper.
    func isOutdated(_ phcString: String) -> Bool {
        guard let stored = PasswordHash(phcString) else { return true }
        return stored.parameters != parameters || stored.pepperID != pepper.current.id
    }

    /// Runs `work` on a thread for hashes.
    /// - Parameter work: returns `nil` where memory ran out.
    /// - Throws: `UNAVAILABLE` when there is no room, no memory or no time, and what `work` throws.
    func run<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result?) async throws -> Result {
        let deadline = Deadline.current?.instant
        let priority = await withCheckedContinuation { waiter in
            perform { $0.admit(waiter, at: now(), until: deadline) }
            expireInTime()
        }
        guard let priority else { throw refusal() }
        let time = Mutex<Duration?>(nil)
        defer {
            perform { $0.ended(priority, after: time.withLock(\.self), at: now()) }
            hashed.continuation.yield()
        }
        let result = try await (priority == .usual ? usualThread : threads).runIfActive {
            [duration, lowerPriority, now] () -> Result? in
            if priority == .lower { lowerPriority.apply() }
            let started = now()
            defer {
                let taken = now() - started
                duration.record(taken)
                time.withLock { $0 = taken }
            }
            return try work()
        }
        guard let result else { throw Problem(.unavailable) }
        return result
    }

    private func refusal() -> Problem {
        refusals.increment()
        return Problem(.unavailable)
    }

    private func perform(_ change: (inout Rules) -> Rules.Effects) {
        let effects = queue.withLock { queue in
            defer { waiting.set(queue.waiting) }
            return change(&queue)
        }
        for (waiter, priority) in effects.started { waiter.resume(returning: priority) }
        for waiter in effects.refused { waiter.resume(returning: nil) }
    }

    /// Refuses waiting requests when their deadlines come too close, even while no hash ends.
    private func expireInTime() {
        guard queue.withLock({ $0.nextExpiry != nil }),
            isExpiring.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged
        else { return }
        // The task is not of one request, so that request's deadline is not its own.
        Task.detached { [self] in
            while let next = queue.withLock(\.nextExpiry) {
                // Not longer, because a request with an earlier deadline may come.
                try? await Task.sleep(for: min(next - now(), .milliseconds(100)))
                perform { $0.expire(at: now()) }
            }
            isExpiring.store(false, ordering: .relaxed)
            // A request may have come after the last check.
            expireInTime()
        }
    }

    /// What the stored hash may be a hash of. One without a pepper is from another system, which hashed the password as
    /// typed.
    private func inputs(_ password: Password, as stored: PasswordHash) -> [[UInt8]] {
        stored.pepperID.flatMap { pepper[$0] }.map { [keyed(password, by: $0)] } ?? password.foreignForms
    }

    /// The password's HMAC under the pepper, so that a copy of the database is not enough to guess the password.
    private func keyed(_ password: Password, by key: SymmetricKey) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(password.text.utf8), using: key))
    }
}

/// Argon2id (RFC 9106) by the reference library.
enum Argon2 {
    /// Blocks the calling thread until the work is done.
    /// - Returns: `nil` when the library refuses, which with acceptable parameters means that memory ran out.
    static func hash(
        _ password: [UInt8], salt: [UInt8], parameters: Argon2Parameters, length: Int
    ) -> [UInt8]? {
        run(password, salt, parameters, length: length, version: ARGON2_VERSION_13.rawValue) { argon2id_ctx(&$0) }
    }

    /// The hash as another system would compute it.
    static func hash(_ password: [UInt8], as foreign: ForeignArgon2Hash) -> [UInt8]? {
        let length = foreign.hash.count
        return run(password, foreign.salt, foreign.parameters, length: length, version: UInt32(foreign.version)) {
            switch foreign.variant {
            case .argon2d: argon2d_ctx(&$0)
            case .argon2i: argon2i_ctx(&$0)
            case .argon2id: argon2id_ctx(&$0)
            }
        }
    }

    private static func run(
        _ password: [UInt8], _ salt: [UInt8], _ parameters: Argon2Parameters, length: Int, version: UInt32,
        _ function: (inout argon2_context) -> Int32
    ) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: length)
        var password = password
        var salt = salt
        let status = output.withUnsafeMutableBufferPointer { output in
            password.withUnsafeMutableBufferPointer { password in
                salt.withUnsafeMutableBufferPointer { salt in
                    var context = argon2_context()
                    context.out = output.baseAddress
                    context.outlen = UInt32(output.count)
                    context.pwd = password.baseAddress
                    context.pwdlen = UInt32(password.count)
                    context.salt = salt.baseAddress
                    context.saltlen = UInt32(salt.count)
                    context.t_cost = UInt32(parameters.iterations)
                    context.m_cost = UInt32(parameters.memory)
                    context.lanes = UInt32(parameters.parallelism)
                    context.threads = 1
                    context.version = version
                    context.flags = 1 << 0  // ARGON2_FLAG_CLEAR_PASSWORD
                    context.allocate_cbk = { memory, size in
                        guard let block = HashMemory.shared.take(size) else {
                            return Int32(ARGON2_MEMORY_ALLOCATION_ERROR.rawValue)
                        }
                        memory?.pointee = block.assumingMemoryBound(to: UInt8.self)
                        return Int32(ARGON2_OK.rawValue)
                    }
                    context.free_cbk = { memory, size in
                        if let memory { HashMemory.shared.release(UnsafeMutableRawPointer(memory), size: size) }
                    }
                    return function(&context)
                }
            }
        }
        return status == Int32(ARGON2_OK.rawValue) ? output : nil
    }
}

/// The memory for hashing, 19 MiB for each concurrent hash. It is reused, because fresh pages make a hash a tenth
/// slower. It is returned to the system after a period without hashing.
///
/// The library wipes each block before it calls `release`.
final class HashMemory: Sendable {
    /// Shared by the process, because the library's callbacks get no context.
    static let shared = HashMemory()

    private struct Block {
        var address: UInt
        var size: Int
        var freedAt: ContinuousClock.Instant
    }

    private let free = Mutex<[Block]>([])

    /// Memory of exactly `size` bytes; `nil` when the system has none.
    func take(_ size: Int) -> UnsafeMutableRawPointer? {
        let kept = free.withLock { free in
            free.lastIndex { $0.size == size }.map { free.remove(at: $0).address }
        }
        if let kept { return UnsafeMutableRawPointer(bitPattern: kept) }
        let fresh = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        return fresh == MAP_FAILED ? nil : fresh
    }

    func release(_ block: UnsafeMutableRawPointer, size: Int) {
        free.withLock { free in
            free.append(Block(address: UInt(bitPattern: block), size: size, freedAt: .now))
        }
    }

    var isEmpty: Bool {
        free.withLock(\.isEmpty)
    }

    /// Returns blocks to the system that have been unused for `age`.
    func trim(idleFor age: Duration) {
        let now = ContinuousClock.now
        let old = free.withLock { free in
            let old = free.filter { now - $0.freedAt >= age }
            free.removeAll { now - $0.freedAt >= age }
            return old
        }
        for block in old {
            munmap(UnsafeMutableRawPointer(bitPattern: block.address), block.size)
        }
    }
}

/// A password's hash names a pepper that this replica does not have. The key was used before every replica had it, or
/// was removed from the file too early. This is a configuration error and not a wrong password.
struct UnknownPepper: ProblemConvertible, CustomStringConvertible {
    /// The key's id.
    let id: String

    var problem: Problem { Problem(.unavailable) }

    var description: String {
        "a password was hashed under the pepper \(id), which is not in IDENTITY_PEPPER_KEYS_FILE of this replica"
    }
}
