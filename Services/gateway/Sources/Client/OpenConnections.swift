import NIOCore
import Synchronization

/// The clients' connections of the process. It is locked when one opens or closes, and by no request.
final class OpenConnections: Sendable {
    private let limit: ConnectionLimit
    private let limitPerNetwork: Int
    private let onClosing: @Sendable () -> Void
    private let open = Atomic<Int>(0)
    private let table = Mutex(ConnectionTable<ConnectionPlace>())

    /// - Parameters:
    ///   - limitPerNetwork: connections of one IPv4 address or IPv6 /48.
    ///   - onClosing: called for each connection that gives up its place to another.
    init(limit: ConnectionLimit, limitPerNetwork: Int, onClosing: @escaping @Sendable () -> Void) {
        self.onClosing = onClosing
        self.limit = limit
        self.limitPerNetwork = limitPerNetwork
    }

    var count: Int { open.load(ordering: .relaxed) }

    /// Whether so many are open that the next one is closed at once.
    var isFarOverLimit: Bool { count >= limit.hard }

    /// A connection opens. Where all places are taken, another one gives up its own.
    ///
    /// - Parameters:
    ///   - isCapped: whether the limit of a network holds for it.
    ///   - now: nanoseconds.
    /// - Returns: whether it is one too many.
    func enter(_ place: ConnectionPlace, of address: AddressKey, isCapped: Bool, now: Int64) -> Bool {
        let isFull = open.wrappingAdd(1, ordering: .relaxed).newValue > limit.soft
        return table.withLock { table in
            defer { table.enter(place, of: address) }
            if isCapped, table.count(of: address) >= limitPerNetwork { return true }
            guard isFull else { return false }
            while let idle = table.takeLongestIdle(now: now, idleSince: \.idleSince) {
                guard idle.beginClosing() else { continue }
                onClosing()
                return false
            }
            return true
        }
    }

    /// A trusted proxy has told whose connection it is.
    ///
    /// - Returns: whether it is one too many of its network.
    func move(_ place: ConnectionPlace, from proxy: AddressKey, to client: AddressKey) -> Bool {
        table.withLock { table in
            defer {
                table.leave(place, of: proxy)
                table.enter(place, of: client)
            }
            return table.count(of: client) >= limitPerNetwork
        }
    }

    func leave(_ place: ConnectionPlace, of address: AddressKey) {
        open.wrappingSubtract(1, ordering: .relaxed)
        table.withLock { $0.leave(place, of: address) }
    }
}

/// One connection among those of the process. Its event loop says when it is idle; any other may have it closed then.
final class ConnectionPlace: Sendable {
    private static let busy = Int64.max
    private static let closing = Int64.max - 1

    /// `nil` in tests of handlers without a connection.
    private let channel: (any Channel)?
    private let state: Atomic<Int64>

    /// - Parameter now: nanoseconds.
    init(_ channel: (any Channel)?, now: Int64) {
        self.channel = channel
        state = Atomic(now)
    }

    /// Since when it carries no request; `nil`: it carries one, or is being closed.
    var idleSince: Int64? {
        let since = state.load(ordering: .relaxed)
        return since < Self.closing ? since : nil
    }

    /// Whether it gave up its place to another connection.
    var isClosing: Bool { state.load(ordering: .relaxed) == Self.closing }

    func becomesBusy() { state.store(Self.busy, ordering: .relaxed) }

    func becomesIdle(at now: Int64) { state.store(now, ordering: .relaxed) }

    /// - Returns: `false` where a request has come meanwhile.
    func beginClosing() -> Bool {
        guard let since = idleSince,
            state.compareExchange(expected: since, desired: Self.closing, ordering: .relaxed).exchanged
        else { return false }
        channel?.eventLoop.execute { [self] in
            guard isClosing, let channel else { return }
            // The client is still being sent its last response. Other connections are closed before this one.
            if channel.waitingBytes > 0 { return becomesIdle(at: Int64(NIODeadline.now().uptimeNanoseconds)) }
            channel.close(promise: nil)
        }
        return true
    }
}
