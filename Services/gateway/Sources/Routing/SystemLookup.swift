import Foundation
import NIOCore
import Synchronization
import Threads

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Asks the system for a host's addresses: its hosts file, its name servers.
final class SystemLookup: Sendable {
    /// Why there is no answer, in the system's words.
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    typealias Answer = Result<[SocketAddress], Failure>

    private struct State {
        var queue: LookupQueue
        var asking: [String: [AsyncStream<Answer>.Continuation]] = [:]
    }

    /// For everybody in this process.
    static let shared = SystemLookup()

    private let state: Mutex<State>
    private let slowFrom: Duration
    private let ask: @Sendable (_ host: String) -> Answer

    /// - Parameters:
    ///   - limit: threads at the most, of which each is there for one look-up.
    ///   - slowFrom: what takes so long may take long again.
    ///   - ask: blocks until there is an answer.
    init(
        limit: Int = 64, slowFrom: Duration = .seconds(1),
        ask: @escaping @Sendable (_ host: String) -> Answer = SystemLookup.ask
    ) {
        state = Mutex(State(queue: LookupQueue(limit: limit)))
        self.slowFrom = slowFrom
        self.ask = ask
    }

    /// All addresses of a host.
    func addresses(of host: String) async throws -> [SocketAddress] {
        // A look-up blocks its thread and can't be cancelled. A caller that is cancelled leaves it to end alone.
        let (answers, answered) = AsyncStream<Answer>.makeStream()
        let begun = state.withLock { state in
            state.asking[host, default: []].append(answered)
            return state.queue.ask(host)
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
                    let answer = ask(host)
                    end(host, answer, wasSlow: ContinuousClock.now - start >= slowFrom)
                }
            } catch {
                end(host, .failure(Failure(description: "\(error)")), wasSlow: false)
            }
        }
    }

    /// Tells everybody who asked for the host, and begins with those that waited for a thread.
    private func end(_ host: String, _ answer: Answer, wasSlow: Bool) {
        let (asking, next) = state.withLock { state in
            (state.asking.removeValue(forKey: host) ?? [], state.queue.ended(host, wasSlow: wasSlow))
        }
        for answered in asking {
            answered.yield(answer)
            answered.finish()
        }
        begin(next)
    }

    @Sendable private static func ask(_ host: String) -> Answer {
        var hints = addrinfo()
        #if canImport(Glibc)
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
            hints.ai_socktype = SOCK_STREAM
        #endif
        // No addresses of a kind that this machine has none of.
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
