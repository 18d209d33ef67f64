import Foundation
import Synchronization

/// Resolves the addresses of hosts with the system's resolver, that is, with its hosts file and name servers.
///
/// The system's resolver has no deadline, so each name is resolved on a thread of its own, at most one for each name. A
/// caller whose deadline passes, or whose task is cancelled, continues without the result.
package final class NameResolver: Sendable {
    package typealias Answer = Result<[String], NameResolverError>

    private struct State {
        var queue: LookupQueue
        /// The waiting callers by name.
        var callers: [String: [UInt64: AsyncStream<Answer>.Continuation]] = [:]
        var lastCaller: UInt64 = 0
    }

    /// Shared by the whole process.
    package static let shared = NameResolver(lookup: systemLookup)

    private let state: Mutex<State>
    private let slowFrom: Duration
    private let lookup: @Sendable (_ name: String) -> Answer

    /// - Parameters:
    ///   - limit: the maximum of threads, each of which runs one look-up.
    ///   - slowFrom: a look-up that takes this long counts as slow.
    ///   - lookup: blocks until the look-up ends.
    package init(
        limit: Int = 64, slowFrom: Duration = .seconds(1), lookup: @escaping @Sendable (_ name: String) -> Answer
    ) {
        state = Mutex(State(queue: LookupQueue(limit: limit)))
        self.slowFrom = slowFrom
        self.lookup = lookup
    }

    /// The numeric addresses of a host, in the order in which to try them.
    ///
    /// - Parameter deadline: `nil`: waits until the look-up ends.
    package func addresses(
        of name: String, until deadline: ContinuousClock.Instant? = nil
    ) async throws(NameResolverError) -> [String] {
        let (answers, answered) = AsyncStream<Answer>.makeStream(bufferingPolicy: .bufferingOldest(1))
        let (id, begun) = state.withLock { state in
            state.lastCaller += 1
            state.callers[name, default: [:]][state.lastCaller] = answered
            return (state.lastCaller, state.queue.request(name))
        }
        // The look-up of the name continues without this caller.
        defer { state.withLock { _ = $0.callers[name]?.removeValue(forKey: id) } }
        begin(begun)
        let timer = deadline.map { deadline in
            Task {
                try await Task.sleep(until: deadline, clock: .continuous)
                answered.yield(.failure(NameResolverError(.timedOut, "the address of \(name) was not found in time")))
            }
        }
        defer { timer?.cancel() }
        var iterator = answers.makeAsyncIterator()
        guard let answer = await iterator.next() else {
            throw NameResolverError(.cancelled, "the task was cancelled")
        }
        return try answer.get()
    }

    private func begin(_ names: [String]) {
        for name in names {
            do throws(SystemThreadError) {
                try SystemThread.start("resolver") { [self] in
                    let start = ContinuousClock.now
                    let answer = lookup(name)
                    end(name, answer, wasSlow: ContinuousClock.now - start >= slowFrom)
                }
            } catch {
                end(name, .failure(NameResolverError(.noThread, "\(error)", underlying: error)), wasSlow: false)
            }
        }
    }

    /// Resumes all callers that wait for the name, and starts the look-ups that waited for a thread.
    private func end(_ name: String, _ answer: Answer, wasSlow: Bool) {
        let (callers, next) = state.withLock { state in
            (state.callers.removeValue(forKey: name) ?? [:], state.queue.ended(name, wasSlow: wasSlow))
        }
        for answered in callers.values { answered.yield(answer) }
        begin(next)
    }

    /// `getaddrinfo`, which reads the hosts file, queries name servers, and has no timeout of its own.
    @Sendable private static func systemLookup(_ name: String) -> Answer {
        var hints = addrinfo()
        #if canImport(Darwin)
            hints.ai_socktype = SOCK_STREAM
        #else
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #endif
        // Excludes addresses of a family that this machine does not have.
        hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(name, nil, &hints, &list)
        guard status == 0 else {
            let reason = String(cString: gai_strerror(status))
            return .failure(NameResolverError(.notFound, "the address of \(name) was not found: \(reason)"))
        }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var next = list
        while let entry = next?.pointee {
            next = entry.ai_next
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            guard
                getnameinfo(
                    entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
            else { continue }
            let address = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            if !addresses.contains(address) { addresses.append(address) }
        }
        return .success(addresses)
    }
}

/// The addresses of a host were not found.
package struct NameResolverError: Error, CustomStringConvertible {
    package struct Code: Sendable, Hashable {
        /// The system knows no address of this name, or its name servers failed.
        package static let notFound = Code(name: "notFound")
        /// The deadline passed.
        package static let timedOut = Code(name: "timedOut")
        package static let cancelled = Code(name: "cancelled")
        /// The system has no thread left for the look-up.
        package static let noThread = Code(name: "noThread")

        private let name: String
    }

    package let code: Code
    package let description: String
    package let underlying: (any Error)?

    package init(_ code: Code, _ description: String, underlying: (any Error)? = nil) {
        (self.code, self.description, self.underlying) = (code, description, underlying)
    }
}
