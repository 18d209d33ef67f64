import Foundation
import Synchronization
import Threads

/// Resolves host names with a deadline. The system's resolver has no deadline, so it runs on a thread of its own, at
/// most one for each name. A caller whose deadline passes continues without the result.
final class NameResolver: Sendable {
    typealias Lookup = @Sendable (String) throws(PostgresError) -> [String]
    private typealias Answer = Result<[String], PostgresError>
    private typealias Waiter = CheckedContinuation<Answer, Never>

    private struct State {
        /// The waiting callers by name. Each name here is being resolved.
        var waiters: [String: [UInt64: Waiter]] = [:]
        var lastWaiter: UInt64 = 0
        /// The last known addresses, used while the name server is unavailable.
        var known: [String: [String]] = [:]
    }

    static let shared = NameResolver(lookup: systemLookup)

    private let lookup: Lookup
    private let state = Mutex(State())

    init(lookup: @escaping Lookup) {
        self.lookup = lookup
    }

    /// The numeric addresses of a host, in the order in which to try them. If the name cannot be resolved in time, the
    /// last known addresses.
    ///
    /// - Throws: ``PostgresError`` with code `connectionFailed`, `timedOut` or `cancelled`.
    func addresses(of name: String, until deadline: ContinuousClock.Instant) async throws(PostgresError) -> [String] {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let timer = Task {
            try await Task.sleep(until: deadline, clock: .continuous)
            let message = "the address of \(name) was not found in time"
            end(id, name, PostgresError(.timedOut, message, reason: .unknownHost))
        }
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let isFirst = state.withLock { state in
                    let isFirst = state.waiters[name] == nil
                    state.waiters[name, default: [:]][id] = waiter
                    return isFirst
                }
                if isFirst { start(name) }
                // The cancellation handler or the timer may have run before this caller was registered.
                if Task.isCancelled { cancel(id, name) }
                if deadline <= .now { end(id, name, PostgresError(.timedOut, "the deadline passed")) }
            }
        } onCancel: {
            cancel(id, name)
        }
        timer.cancel()
        if case .failure(let error) = answer, error.code != .cancelled,
            let known = state.withLock({ $0.known[name] })
        {
            return known
        }
        return try answer.get()
    }

    /// The servers with addresses in place of names. Names that cannot be resolved are omitted, unless no server would
    /// be left.
    func resolve(
        _ servers: [ServerAddress], until deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> [ServerAddress] {
        // Half of the time remains for connecting.
        let now = ContinuousClock.now
        let lookupDeadline = now + (deadline - now) / 2
        let names = Set(servers.compactMap(\.unresolvedName))
        let answers = await withTaskGroup(of: (String, Answer).self) { group in
            for name in names {
                group.addTask { (name, await self.answer(of: name, until: lookupDeadline)) }
            }
            return await group.reduce(into: [String: Answer]()) { $0[$1.0] = $1.1 }
        }
        var resolved: [ServerAddress] = []
        var failures: [PostgresError] = []
        for server in servers {
            guard let name = server.unresolvedName, let answer = answers[name] else {
                resolved.append(server)
                continue
            }
            switch answer {
            case .success(let addresses):
                resolved += addresses.map { ServerAddress(host: name, hostaddr: $0, port: server.port) }
            case .failure(let error): failures.append(error)
            }
        }
        if resolved.isEmpty { throw PostgresError(connecting: failures) }
        return resolved
    }

    /// A function instead of `do throws` in the task's closure: there, a release build by Swift 6.3.1 corrupts the pair
    /// of name and result, and the process crashes.
    private func answer(of name: String, until deadline: ContinuousClock.Instant) async -> Answer {
        do throws(PostgresError) {
            return .success(try await addresses(of: name, until: deadline))
        } catch {
            return .failure(error)
        }
    }

    private func start(_ name: String) {
        do throws(SystemThreadError) {
            try SystemThread.start("resolver") { [self] in
                do throws(PostgresError) {
                    finish(name, .success(try lookup(name)))
                } catch {
                    finish(name, .failure(error))
                }
            }
        } catch {
            finish(name, .failure(PostgresError(noThread: error)))
        }
    }

    private func finish(_ name: String, _ answer: Answer) {
        let waiters = state.withLock { state in
            if case .success(let addresses) = answer { state.known[name] = addresses }
            return state.waiters.removeValue(forKey: name)
        }
        for waiter in (waiters ?? [:]).values { waiter.resume(returning: answer) }
    }

    private func cancel(_ id: UInt64, _ name: String) {
        end(id, name, PostgresError(.cancelled, "the task was cancelled"))
    }

    private func end(_ id: UInt64, _ name: String, _ error: PostgresError) {
        // The lookup of the name continues without this waiter.
        let waiter = state.withLock { $0.waiters[name]?.removeValue(forKey: id) }
        waiter?.resume(returning: .failure(error))
    }

    /// `getaddrinfo`, which reads the hosts file, queries name servers, and has no timeout of its own.
    private static func systemLookup(_ name: String) throws(PostgresError) -> [String] {
        var hints = addrinfo()
        #if canImport(Darwin)
            hints.ai_socktype = SOCK_STREAM
        #else
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(name, nil, &hints, &list)
        guard status == 0 else {
            throw PostgresError(
                .connectionFailed, "the address of \(name) was not found: \(String(cString: gai_strerror(status)))",
                reason: .unknownHost)
        }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var next = list
        while let entry = next {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            if getnameinfo(
                entry.pointee.ai_addr, entry.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
                == 0
            {
                let address = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                if !addresses.contains(address) { addresses.append(address) }
            }
            next = entry.pointee.ai_next
        }
        return addresses
    }
}
