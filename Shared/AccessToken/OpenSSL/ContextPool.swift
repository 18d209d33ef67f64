import Synchronization

/// Lends each caller a context that nobody else uses meanwhile.
///
/// OpenSSL 3.0 counts references with atomic operations and takes locks on whatever threads share, which costs
/// more than the arithmetic of a verification. A context owns all that it touches, its copy of the key included.
/// There are never more of them than there were callers at once.
final class ContextPool<Context: Sendable>: Sendable {
    private let idle = Mutex<[Context]>([])
    private let make: @Sendable () throws(AccessTokenError) -> Context

    /// Makes the first context at once, so that a key that OpenSSL does not take is found here.
    init(_ make: @escaping @Sendable () throws(AccessTokenError) -> Context) throws(AccessTokenError) {
        self.make = make
        let first = try make()
        idle.withLock { $0.append(first) }
    }

    func withContext<Result>(
        _ body: (Context) throws(AccessTokenError) -> Result
    ) throws(AccessTokenError) -> Result {
        let context: Context
        if let waiting = idle.withLock({ $0.popLast() }) { context = waiting } else { context = try make() }
        defer { idle.withLock { $0.append(context) } }
        return try body(context)
    }
}
