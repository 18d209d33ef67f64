import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Asks the system for a host's addresses: its hosts file, its name servers.
enum SystemLookup {
    /// Why there is no answer, in the system's words.
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// Names whose servers do not answer keep a thread each for seconds: the others shall find one.
    private static let threads = {
        let threads = NIOThreadPool(numberOfThreads: 8)
        threads.start()
        return threads
    }()

    static func addresses(of host: String) async throws -> [SocketAddress] {
        let (answers, answered) = AsyncStream<Result<[SocketAddress], Failure>>.makeStream()
        // It blocks, and can't be told to stop: who has no time for it any more leaves it to end alone.
        threads.submit { state in
            if case .active = state { answered.yield(ask(host)) }
            answered.finish()
        }
        for await answer in answers { return try answer.get() }
        throw CancellationError()
    }

    private static func ask(_ host: String) -> Result<[SocketAddress], Failure> {
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
