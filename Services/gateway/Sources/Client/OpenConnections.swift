import NIOCore
import Synchronization

/// The client connections of the process. Opening and closing one takes a lock; requests take none.
final class OpenConnections: Sendable {
    private let limit: ConnectionLimit
    private let limitPerNetwork: Int
    private let onClosing: @Sendable () -> Void
    private let open = Atomic<Int>(0)
    private let table = Mutex(ConnectionTable<OpenConnection>())

    /// - Parameters:
    ///   - limitPerNetwork: connections of one IPv4 address or IPv6 /48.
    ///   - onClosing: called for each connection that is closed in favour of another.
    init(limit: ConnectionLimit, limitPerNetwork: Int, onClosing: @escaping @Sendable () -> Void) {
        self.onClosing = onClosing
        self.limit = limit
        self.limitPerNetwork = limitPerNetwork
    }

    var count: Int { open.load(ordering: .relaxed) }

    /// Whether the hard limit is reached: further connections are closed at once.
    var isFarOverLimit: Bool { count >= limit.hard }

    /// Counts a new connection. If the limit is reached, an idle connection is closed in its favour.
    ///
    /// - Parameters:
    ///   - isCapped: whether the limit of a network applies to it.
    ///   - now: nanoseconds.
    /// - Returns: whether the new connection exceeds a limit.
    func enter(_ connection: OpenConnection, of address: AddressKey, isCapped: Bool, now: Int64) -> Bool {
        let isFull = open.wrappingAdd(1, ordering: .relaxed).newValue > limit.soft
        return table.withLock { table in
            defer { table.enter(connection, of: address) }
            if isCapped, table.count(of: address) >= limitPerNetwork { return true }
            guard isFull else { return false }
            return !closeLongestIdle(of: &table, now: now)
        }
    }

    /// - Parameter now: when the new connection was accepted. The new connection itself must not be closed.
    /// - Returns: whether an idle connection exists. If its event loop keeps it, the next idle one is closed instead.
    private func closeLongestIdle(of table: inout ConnectionTable<OpenConnection>, now: Int64) -> Bool {
        while let idle = table.takeLongestIdle(now: now, idleSince: { $0.idleSince(before: now) }) {
            let isClosing = idle.beginClosing { [self] isClosed in
                if isClosed { return onClosing() }
                self.table.withLock { _ = closeLongestIdle(of: &$0, now: now) }
            }
            if isClosing { return true }
        }
        return false
    }

    /// A trusted proxy has reported the source of the connection.
    ///
    /// - Returns: whether it exceeds the limit of its network.
    func move(_ connection: OpenConnection, from proxy: AddressKey, to client: AddressKey) -> Bool {
        table.withLock { table in
            defer {
                table.leave(connection, of: proxy)
                table.enter(connection, of: client)
            }
            return table.count(of: client) >= limitPerNetwork
        }
    }

    func leave(_ connection: OpenConnection, of address: AddressKey) {
        open.wrappingSubtract(1, ordering: .relaxed)
        table.withLock { $0.leave(connection, of: address) }
    }
}

/// One connection among those of the process. Its event loop marks it as idle; then any event loop may have it closed.
final class OpenConnection: Sendable {
    private static let busy = Int64.max
    private static let closing = Int64.max - 1
    /// Added to `idleSince` while the client has not taken all of its last response, so that such a connection is
    /// closed last.
    private static let waitingOutput = Int64(1) << 62

    /// `nil` in tests of handlers without a connection.
    private let channel: (any Channel)?
    private let state: Atomic<Int64>

    /// - Parameter now: nanoseconds.
    init(_ channel: (any Channel)?, now: Int64) {
        self.channel = channel
        state = Atomic(now)
    }

    /// When the connection last became idle; `nil`: it carries a request, or is being closed. While output waits for
    /// the client, the time is later than all others (`waitingOutput`).
    private var idleSince: Int64? {
        let since = state.load(ordering: .relaxed)
        return since < Self.closing ? since : nil
    }

    /// Like `idleSince`, but `nil` if the connection became idle at `time` or later.
    func idleSince(before time: Int64) -> Int64? {
        idleSince.flatMap { $0 < time || $0 >= Self.waitingOutput ? $0 : nil }
    }

    /// Whether it is being closed in favour of another connection.
    var isClosing: Bool { state.load(ordering: .relaxed) == Self.closing }

    func markBusy() { state.store(Self.busy, ordering: .relaxed) }

    func markIdle(at now: Int64, hasOutput: Bool = false) {
        state.store(hasOutput ? now + Self.waitingOutput : now, ordering: .relaxed)
    }

    /// - Parameter ended: called on the event loop. The connection is kept if a request has arrived meanwhile, or if
    ///   output waits for the client for the first time.
    /// - Returns: `false` if a request has arrived meanwhile.
    func beginClosing(_ ended: @escaping @Sendable (_ isClosed: Bool) -> Void) -> Bool {
        guard let since = idleSince,
            state.compareExchange(expected: since, desired: Self.closing, ordering: .relaxed).exchanged
        else { return false }
        channel?.eventLoop.execute { [self] in
            guard isClosing, let channel else { return ended(false) }
            if since < Self.waitingOutput, channel.waitingBytes > 0 {
                markIdle(at: since, hasOutput: true)
                return ended(false)
            }
            channel.close(promise: nil)
            ended(true)
        }
        return true
    }
}
