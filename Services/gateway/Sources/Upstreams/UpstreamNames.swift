import Foundation
import Instruments
import Logging
import NIOCore
import ServiceKit
import ServiceLifecycle
import Synchronization
import Threads

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Resolves the names of upstreams: all addresses of each, repeatedly, off the event loops.
///
/// If a look-up fails, the name keeps its previous addresses.
final class UpstreamNames: Service {
    /// Returns all addresses of a host; their ports have no meaning. It may take long, and ends when its task is
    /// cancelled.
    typealias Lookup = @Sendable (_ host: String) async throws -> [SocketAddress]

    private struct State {
        var addresses: [String: [SocketAddress]] = [:]
        var lookingUp: Set<String> = []
        var failing: Set<String> = []
        var listeners: [@Sendable () -> Void] = []
    }

    private struct NoAddress: Error {}

    private let routes: CurrentRoutes
    private let logger: Logger
    private let lookup: Lookup
    private let pause: Duration
    private let timeout: Duration
    private let state = Mutex(State())
    private let failures = Counter(
        "gatehouse_gateway_name_lookup_failures_total", help: "Look-ups of upstreams' names that failed.")

    /// - Parameters:
    ///   - routes: the names of their upstreams are followed.
    ///   - pause: between two rounds. Together with the time of a look-up, the addresses are 5 s old at most.
    ///   - timeout: for the look-ups of names that are new with a table.
    init(
        routes: CurrentRoutes, logger: Logger, pause: Duration = .seconds(2), timeout: Duration = .seconds(2),
        lookup: @escaping Lookup = SystemLookup.shared.addresses
    ) {
        self.routes = routes
        self.logger = logger
        self.pause = pause
        self.timeout = timeout
        self.lookup = lookup
    }

    /// The addresses of each host.
    var addresses: [String: [SocketAddress]] { state.withLock { $0.addresses } }

    /// Calls `listener` after each change, on any thread.
    func onChange(_ listener: @escaping @Sendable () -> Void) {
        state.withLock { $0.listeners.append(listener) }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                await Periodic(every: self.pause).run {
                    // A slow look-up is not started again while it runs, and delays no other.
                    for name in self.claimIdle() {
                        group.addTask {
                            await self.lookUp(name)
                            self.state.withLock { _ = $0.lookingUp.remove(name) }
                        }
                    }
                    return .afterInterval
                }
            }
        }
    }

    /// Looks up the new names of a table before it comes into force. Names whose look-up times out stay unresolved.
    func lookUpNew(in table: RouteTable) async {
        let followed = routes.table.names
        let new = state.withLock { state in
            table.names.filter { !followed.contains($0) || state.addresses[$0] == nil }
        }
        guard !new.isEmpty else { return }
        await withTaskGroup(of: Bool.self) { group in
            for name in new {
                group.addTask {
                    await self.lookUp(name)
                    return true
                }
            }
            group.addTask {
                try? await Task.sleep(for: self.timeout)
                return false
            }
            var left = new.count
            for await isLookedUp in group {
                left -= 1
                if !isLookedUp || left == 0 { break }
            }
            group.cancelAll()
        }
    }

    private func claimIdle() -> Set<String> {
        let names = routes.table.names
        return state.withLock { state in
            let idle = names.subtracting(state.lookingUp)
            state.lookingUp.formUnion(idle)
            return idle
        }
    }

    private func lookUp(_ name: String) async {
        do {
            let found = try await lookup(name)
            guard !found.isEmpty else { throw NoAddress() }
            take(found, of: name)
        } catch {
            guard !Task.isCancelled else { return }
            failures.increment()
            if state.withLock({ $0.failing.insert(name).inserted }) {
                logger.warning("cannot look up an upstream", metadata: ["host": "\(name)", "error": "\(error)"])
            }
        }
    }

    private func take(_ found: [SocketAddress], of name: String) {
        let listeners = state.withLock { state -> [@Sendable () -> Void] in
            state.failing.remove(name)
            // Name servers return the addresses in varying order.
            guard Set(found) != state.addresses[name].map(Set.init) else { return [] }
            state.addresses[name] = found
            return state.listeners
        }
        guard !listeners.isEmpty else { return }
        logger.notice(
            "addresses of an upstream",
            metadata: ["host": "\(name)", "addresses": "\(found.compactMap(\.ipAddress).joined(separator: ", "))"])
        for listener in listeners { listener() }
    }
}

extension RouteTable {
    /// The hosts of upstreams that have to be looked up.
    var names: Set<String> {
        var names: Set<String> = []
        for route in routes {
            guard case .upstream(let upstream) = route.target else { continue }
            for address in upstream.addresses where address.literal == nil {
                names.insert(address.host)
            }
        }
        return names
    }
}

extension Upstream.Address {
    /// The address itself; `nil` where the host is a name.
    var literal: SocketAddress? { try? SocketAddress(ipAddress: host, port: port) }
}

/// Resolves a host's addresses with the system's resolver, that is, with its hosts file and name servers.
final class SystemLookup: Sendable {
    /// Why a look-up failed, in the system's words.
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    typealias Answer = Result<[SocketAddress], Failure>

    private struct State {
        var queue: LookupQueue
        var callers: [String: [AsyncStream<Answer>.Continuation]] = [:]
    }

    /// Shared by the whole process.
    static let shared = SystemLookup()

    private let state: Mutex<State>
    private let slowFrom: Duration
    private let resolve: @Sendable (_ host: String) -> Answer

    /// - Parameters:
    ///   - limit: the maximum of threads, each of which runs one look-up.
    ///   - slowFrom: a look-up that takes this long counts as slow.
    ///   - resolve: blocks until the look-up ends.
    init(
        limit: Int = 64, slowFrom: Duration = .seconds(1),
        resolve: @escaping @Sendable (_ host: String) -> Answer = SystemLookup.resolve
    ) {
        state = Mutex(State(queue: LookupQueue(limit: limit)))
        self.slowFrom = slowFrom
        self.resolve = resolve
    }

    /// All addresses of a host.
    func addresses(of host: String) async throws -> [SocketAddress] {
        // A look-up blocks its thread and cannot be cancelled. A cancelled caller does not wait for it.
        let (answers, answered) = AsyncStream<Answer>.makeStream()
        let begun = state.withLock { state in
            state.callers[host, default: []].append(answered)
            return state.queue.request(host)
        }
        begin(begun)
        for await answer in answers { return try answer.get() }
        throw CancellationError()
    }

    private func begin(_ hosts: [String]) {
        for host in hosts {
            do throws(SystemThreadError) {
                try SystemThread.start("lookup") { [self] in
                    let start = ContinuousClock.now
                    let answer = resolve(host)
                    end(host, answer, wasSlow: ContinuousClock.now - start >= slowFrom)
                }
            } catch {
                end(host, .failure(Failure(description: "\(error)")), wasSlow: false)
            }
        }
    }

    /// Resumes all callers that wait for the host, and starts the look-ups that waited for a thread.
    private func end(_ host: String, _ answer: Answer, wasSlow: Bool) {
        let (callers, next) = state.withLock { state in
            (state.callers.removeValue(forKey: host) ?? [], state.queue.ended(host, wasSlow: wasSlow))
        }
        for answered in callers {
            answered.yield(answer)
            answered.finish()
        }
        begin(next)
    }

    @Sendable private static func resolve(_ host: String) -> Answer {
        var hints = addrinfo()
        #if canImport(Glibc)
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
            hints.ai_socktype = SOCK_STREAM
        #endif
        // Excludes addresses of a family that this machine does not have.
        hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        guard code == 0 else { return .failure(Failure(description: String(cString: gai_strerror(code)))) }
        defer { freeaddrinfo(list) }
        return .success(sequence(first: list) { $0?.pointee.ai_next }.prefix { $0 != nil }.compactMap(address))
    }

    private static func address(_ info: UnsafeMutablePointer<addrinfo>?) -> SocketAddress? {
        guard let info = info?.pointee, let address = info.ai_addr else { return nil }
        return switch info.ai_family {
        case AF_INET: address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { SocketAddress($0.pointee) }
        case AF_INET6: address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { SocketAddress($0.pointee) }
        default: nil
        }
    }
}
