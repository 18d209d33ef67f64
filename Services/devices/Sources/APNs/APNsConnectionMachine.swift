import Foundation

/// One HTTP/2 connection to APNs: which streams are open, how many more may be, and what each event means for them.
///
/// Holds no socket and no clock. The connection's handler reports frames and times, and carries out the actions.
struct APNsConnectionMachine<Send> {
    typealias Instant = ContinuousClock.Instant

    /// A task for the connection.
    enum Action {
        /// The stream ended with a response.
        case answered(Send, Response)
        /// The server has not processed the request, so that it can be sent again.
        case notProcessed(Send)
        /// The server may have processed the request.
        case inDoubt(Send)
        /// Send RST_STREAM with CANCEL.
        case reset(stream: UInt32)
        case ping
        /// Close the connection if its socket takes no bytes: those that wait would be sent when it does again.
        case closeIfBlocked
        /// Close the connection, and report ``APNsConnectionMachine/closed()``.
        case close(String)
    }

    /// The response of one stream.
    struct Response: Sendable, Equatable {
        var status: Int
        var retryAfter: Int?
        /// Of a channel's creation.
        var channelID: String?
        var body: [UInt8] = []
        /// From the request to its response's end.
        var duration = Duration.zero
    }

    /// How long nothing has come while streams wait.
    enum Responsiveness: Sendable, Equatable {
        case normal
        /// Longer than ``APNsLimits/stallTime``.
        case stalled
        /// Longer than ``APNsLimits/hangTime``.
        case hanging
    }

    enum Phase: Sendable {
        /// The server's SETTINGS have not come.
        case connecting
        case open
        /// No more streams are opened. The connection ends with its last one.
        case draining
        case closed
    }

    private struct Stream {
        let send: Send
        let openedAt: Instant
        let deadline: Instant
        /// When the stream ends if its request is not written by then; `nil` once it is.
        var writeBy: Instant?
        var response: Response?
    }

    /// Streams while the server's SETTINGS do not say how many it allows. NIO's codec begins with the same number.
    private static var defaultStreams: Int { 100 }
    /// Streams in a row without answer after which another connection is tried.
    static var maximumTimeoutsInARow: Int { 3 }
    /// Client's streams have odd numbers below 2^31 (RFC 9113 §5.1.1).
    static var lastStream: UInt32 { 0x7FFF_FFFF }

    private(set) var phase = Phase.connecting
    /// Whether APNs has accepted the provider token on this connection.
    ///
    /// “APNs allows only one stream until you post a request with a valid authentication token.” (Apple, “Establishing
    /// a connection to APNs”).
    private(set) var isVerified = false
    private let limits: APNsLimits
    private let connectBy: Instant
    private var streams: [UInt32: Stream] = [:]
    private var nextStream: UInt32
    private var allowedStreams = Self.defaultStreams
    /// No stream's deadline, and no time by which its request must be written, is before this.
    private var earliestDeadline: Instant?
    private var lastActivity: Instant
    /// Since when streams wait and no frame has come.
    private var silentSince: Instant
    private var pingedUntil: Instant?
    private var timeoutsInARow = 0

    init(limits: APNsLimits, now: Instant, firstStream: UInt32 = 1) {
        self.limits = limits
        connectBy = now + limits.connectTimeout
        nextStream = firstStream
        lastActivity = now
        silentSince = now
    }

    // MARK: - State

    var openStreams: Int { streams.count }

    /// How many streams may be opened now.
    var capacity: Int {
        guard phase == .open else { return 0 }
        let allowed = min(allowedStreams, isVerified ? limits.maximumStreams : 1)
        return max(0, allowed - streams.count)
    }

    /// Whether frames come while streams wait.
    func responsiveness(now: Instant) -> Responsiveness {
        guard !streams.isEmpty else { return .normal }
        let silence = silentSince.duration(to: now)
        return silence < limits.stallTime ? .normal : silence < limits.hangTime ? .stalled : .hanging
    }

    /// Whether the connection has served its purpose and must be closed.
    var isFinished: Bool { phase == .draining && streams.isEmpty }

    /// When ``timerFired(now:)`` is to be called. It may be called earlier.
    var nextTimer: Instant? {
        switch phase {
        case .connecting: return connectBy
        case .closed: return nil
        case .open, .draining:
            let next = earliestDeadline ?? lastActivity + limits.pingAfter
            return pingedUntil.map { min($0, next) } ?? next
        }
    }

    // MARK: - Events

    /// The server's SETTINGS came.
    ///
    /// - Parameter maximumStreams: if the frame has the setting.
    /// - Returns: whether they are the first, so that the connection is ready.
    mutating func settings(maximumStreams: Int?, now: Instant) -> Bool {
        heard(now)
        if let maximumStreams { allowedStreams = maximumStreams }
        guard phase == .connecting else { return false }
        phase = .open
        return true
    }

    /// Opens a stream. ``capacity`` must be at least 1.
    mutating func open(_ send: Send, deadline: Instant, now: Instant) -> UInt32 {
        precondition(capacity > 0, "the connection has no room for a stream")
        if streams.isEmpty { silentSince = now }
        lastActivity = now
        let stream = nextStream
        let writeBy = min(now + limits.bodyTime, deadline)
        streams[stream] = Stream(send: send, openedAt: now, deadline: deadline, writeBy: writeBy)
        earliestDeadline = earliestDeadline.map { min($0, writeBy) } ?? writeBy
        if nextStream >= Self.lastStream { phase = .draining } else { nextStream += 2 }
        return stream
    }

    /// The kernel has a stream's whole request.
    mutating func wrote(stream id: UInt32) { streams[id]?.writeBy = nil }

    /// A header section of a response came.
    ///
    /// - Parameter status: `nil` in trailers, or if it is unreadable.
    mutating func head(
        stream id: UInt32, status: Int?, retryAfter: Int?, channelID: String? = nil, endsStream: Bool, now: Instant
    ) -> [Action] {
        heard(now)
        guard streams[id] != nil else { return [] }
        if streams[id]?.response == nil {
            guard let status else { return abandon(id) }
            // Interim responses precede the response (RFC 9113 §8.1).
            if (100..<200).contains(status) { return endsStream ? abandon(id) : [] }
            streams[id]?.response = Response(status: status, retryAfter: retryAfter, channelID: channelID)
        }
        return endsStream ? end(id, now) : []
    }

    /// A part of a response's body came.
    mutating func body(
        stream id: UInt32, _ bytes: some Collection<UInt8>, endsStream: Bool, now: Instant
    ) -> [Action] {
        heard(now)
        guard let stream = streams[id] else { return [] }
        guard let response = stream.response, response.body.count + bytes.count <= limits.maximumBody else {
            return abandon(id)
        }
        streams[id]?.response?.body.append(contentsOf: bytes)
        return endsStream ? end(id, now) : []
    }

    /// The server has reset a stream, or the codec has.
    ///
    /// - Parameter isRefused: whether the code is REFUSED_STREAM, which says that the request was not processed
    ///   (RFC 9113 §8.7).
    mutating func reset(stream id: UInt32, isRefused: Bool, now: Instant) -> [Action] {
        heard(now)
        guard let stream = remove(id) else { return [] }
        return [isRefused ? .notProcessed(stream.send) : .inDoubt(stream.send)]
    }

    /// GOAWAY came: requests on higher streams were not processed (RFC 9113 §6.8).
    mutating func goAway(lastStream: UInt32, now: Instant) -> [Action] {
        heard(now)
        drain()
        return streams.keys.filter { $0 > lastStream }.sorted().compactMap { remove($0).map { .notProcessed($0.send) } }
    }

    /// A frame came that concerns no stream's response.
    mutating func heard(_ now: Instant) {
        lastActivity = now
        silentSince = now
    }

    mutating func pingAcknowledged(now: Instant) {
        heard(now)
        pingedUntil = nil
    }

    /// APNs has accepted the provider token.
    mutating func verify() { isVerified = true }

    /// Opens no more streams.
    mutating func drain() {
        if phase != .closed { phase = .draining }
    }

    /// Ends what is due.
    mutating func timerFired(now: Instant) -> [Action] {
        switch phase {
        case .connecting: return connectBy <= now ? [.close("The server has sent no SETTINGS in time.")] : []
        case .closed: return []
        case .open, .draining: break
        }
        if let pingedUntil, pingedUntil <= now { return [.close("The server has not answered a PING.")] }
        var actions = endOverdueStreams(now)
        let isIdle = streams.isEmpty && lastActivity + limits.pingAfter <= now
        if pingedUntil == nil, isIdle || !actions.isEmpty {
            pingedUntil = now + limits.pingTimeout
            actions.append(.ping)
        }
        // Otherwise an idle connection's timer would be due at once.
        if isIdle { lastActivity = now }
        return actions
    }

    private mutating func endOverdueStreams(_ now: Instant) -> [Action] {
        guard let earliestDeadline, earliestDeadline <= now else { return [] }
        // The end of their requests never reaches the server.
        let unwritten = streams.filter { $0.value.writeBy.map { $0 <= now } ?? false }.keys.sorted()
        // Before the resets, which would count as bytes that the socket does not take.
        var actions: [Action] = unwritten.isEmpty ? [] : [.closeIfBlocked]
        actions += unwritten.flatMap { id in
            remove(id).map { [.reset(stream: id), .notProcessed($0.send)] } ?? []
        }
        let overdue = streams.filter { $0.value.deadline <= now }.keys.sorted()
        actions += overdue.flatMap { abandon($0) }
        self.earliestDeadline = streams.values.lazy.map { $0.writeBy ?? $0.deadline }.min()
        timeoutsInARow += unwritten.count + overdue.count
        // Its streams may hang, although it answers a PING.
        if timeoutsInARow >= Self.maximumTimeoutsInARow { drain() }
        return actions
    }

    /// The connection is closed.
    mutating func closed() -> [Action] {
        phase = .closed
        let lost = streams.sorted { $0.key < $1.key }.map { Action.inDoubt($0.value.send) }
        streams = [:]
        earliestDeadline = nil
        pingedUntil = nil
        return lost
    }

    // MARK: - Streams

    private mutating func end(_ id: UInt32, _ now: Instant) -> [Action] {
        guard let stream = remove(id), var response = stream.response else { return [] }
        timeoutsInARow = 0
        response.duration = stream.openedAt.duration(to: now)
        return [.answered(stream.send, response)]
    }

    /// Waits no longer for a stream's response.
    private mutating func abandon(_ id: UInt32) -> [Action] {
        guard let stream = remove(id) else { return [] }
        return [.reset(stream: id), .inDoubt(stream.send)]
    }

    private mutating func remove(_ id: UInt32) -> Stream? {
        let stream = streams.removeValue(forKey: id)
        if streams.isEmpty { earliestDeadline = nil }
        return stream
    }
}

extension APNsConnectionMachine.Action: Equatable where Send: Equatable {}
extension APNsConnectionMachine.Action: Sendable where Send: Sendable {}
