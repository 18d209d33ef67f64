import DequeModule
import Foundation
import GatehouseInstruments
import GatehouseServiceContracts
import Logging
import NIOCore
import NIOSSL
import Synchronization

/// Sends pushes with one team's key to one environment of APNs. Safe to use from any task.
///
/// All connections of the pool are on one event loop, which alone uses its state (``APNsConnectionPoolCore``). Callers
/// put pushes into an inbox, which the event loop empties in one step.
final class APNsConnectionPool: PushService {
    private struct Inbox {
        var attempts: [APNsAttempt] = []
        var isScheduled = false
    }

    /// Which requests the pool sends, as its server takes them.
    enum Use: String, Sendable {
        case pushes
        case broadcasts
        /// The management of channels.
        case channels
    }

    let environment: PushEnvironment
    let key: APNsKey
    let uses: [Use]
    private let sendTimeout: Duration
    private let eventLoop: any EventLoop
    private let inbox = Mutex(Inbox())
    private let streams: StreamCount
    private let core: NIOLoopBoundBox<APNsConnectionPoolCore>

    init(
        key: APNsKey, environment: PushEnvironment, uses: [Use], tokens: ProviderTokenSource,
        server: APNsEndpoints.Server, tls: NIOSSLContext?, limits: APNsLimits, eventLoop: any EventLoop,
        metrics: APNsMetrics, logger: Logger, clock: @escaping @Sendable () -> Date
    ) {
        self.key = key
        self.uses = uses
        let use = uses.first ?? .pushes
        self.environment = environment
        self.eventLoop = eventLoop
        sendTimeout = limits.sendTimeout
        var logger = logger
        logger[metadataKey: "team"] = "\(key.team)"
        logger[metadataKey: "key"] = "\(key.keyID)"
        logger[metadataKey: "environment"] = "\(environment)"
        logger[metadataKey: "use"] = "\(use)"
        let streams = StreamCount()
        self.streams = streams
        core = .makeBoxSendingValue(
            APNsConnectionPoolCore(
                tokens: tokens, server: server, tls: tls, limits: limits, eventLoop: eventLoop, streams: streams,
                metrics: metrics.pool(team: key.team, key: key.keyID, environment: environment, use: use),
                logger: logger, clock: clock),
            eventLoop: eventLoop)
    }

    var maximumStreams: Int { streams.count.load(ordering: .relaxed) }

    func send(_ push: RenderedPush) async -> SendOutcome { await send(.push(push)) }

    /// Cancelling the task changes nothing: the request may be on its way.
    func send(_ call: APNsCall) async -> SendOutcome {
        let deadline = ContinuousClock.now + sendTimeout
        return await withUnsafeContinuation { outcome in
            let mustWake = inbox.withLock { inbox in
                inbox.attempts.append(APNsAttempt(call: call, deadline: deadline, outcome: outcome))
                defer { inbox.isScheduled = true }
                return !inbox.isScheduled
            }
            if mustWake { eventLoop.execute { self.empty() } }
        }
    }

    private func empty() {
        let attempts = inbox.withLock { inbox in
            inbox.isScheduled = false
            return exchange(&inbox.attempts, with: [])
        }
        core.value.accept(attempts)
    }

    /// Sends nothing more, and waits for the pushes in flight. Takes no longer than a send.
    func close() async {
        await withCheckedContinuation { done in
            eventLoop.execute { self.core.value.close { done.resume() } }
        }
    }
}

/// How many streams a pool's connections allow: one before there is any.
final class StreamCount: Sendable {
    let count = Atomic(1)
}

/// A pool's connections and waiting pushes. Used on its event loop only.
final class APNsConnectionPoolCore {
    /// Between two looks at waiting pushes whose time may have passed.
    private static let waitingCheck = TimeAmount.milliseconds(50)
    /// Requests that are written to the socket together.
    private static let flushSize = 32

    private let tokens: ProviderTokenSource
    private let server: APNsEndpoints.Server
    private let tls: NIOSSLContext?
    private let limits: APNsLimits
    private let eventLoop: any EventLoop
    private let streams: StreamCount
    private let metrics: APNsConnectionPoolMetrics
    private let logger: Logger
    private let clock: @Sendable () -> Date

    private var admission: ConnectionPoolAdmission
    private var refusals = RefusalRate()
    /// Of each role: a server that closes the connection of invented tokens must not keep others from connecting.
    private var backoffs: [ConnectBackoff]
    private var waiting = [Deque<APNsAttempt>](repeating: [], count: APNsConnection.Role.allCases.count)
    private var connections: [APNsConnection] = []
    private var isCheckScheduled = false
    private var isProgressScheduled = false
    private var isPumping = false
    private var onClosed: [() -> Void] = []
    private var isClosing = false

    init(
        tokens: ProviderTokenSource, server: APNsEndpoints.Server, tls: NIOSSLContext?, limits: APNsLimits,
        eventLoop: any EventLoop, streams: StreamCount, metrics: APNsConnectionPoolMetrics, logger: Logger,
        clock: @escaping @Sendable () -> Date
    ) {
        self.tokens = tokens
        self.server = server
        self.tls = tls
        self.limits = limits
        self.eventLoop = eventLoop
        self.streams = streams
        self.metrics = metrics
        self.logger = logger
        self.clock = clock
        admission = ConnectionPoolAdmission(limits: limits)
        backoffs = APNsConnection.Role.allCases.map { _ in ConnectBackoff(limits: limits) }
    }

    // MARK: - From callers

    func accept(_ attempts: [APNsAttempt]) {
        let now = ContinuousClock.now
        for var attempt in attempts {
            if isClosing {
                finish(attempt, .notSent(.unreachable))
                continue
            }
            switch admission.admit(isToProvenDevice: attempt.call.isToProvenDevice, now: now) {
            case .send: break
            case .probe: attempt.isProbe = true
            case .refuse:
                finish(attempt, .notSent(.connectionPoolStopped))
                continue
            }
            let role = attempt.call.role.index
            if waiting[role].count < limits.maximumWaiting {
                waiting[role].append(attempt)
            } else {
                finish(attempt, .notSent(.saturated))
            }
        }
        progressed()
    }

    func close(whenClosed: @escaping () -> Void) {
        isClosing = true
        onClosed.append(whenClosed)
        failWaiting(.unreachable)
        for connection in connections { connection.drain() }
        reportIfClosed()
    }

    /// Those of the role that has most, because a push uses the connections of its own, and one more where the pool may
    /// add a connection: a push that waits is the reason for it.
    private func maximumStreams(_ now: ContinuousClock.Instant) -> Int {
        var most = 1
        for role in APNsConnection.Role.allCases {
            let streams = connections.reduce(0) { sum, connection in
                guard connection.role == role else { return sum }
                let machine = connection.machine
                return sum + machine.openStreams + (machine.responsiveness(now: now) == .normal ? machine.capacity : 0)
            }
            most = max(most, streams + (mayAddConnection(for: role, now) ? 1 : 0))
        }
        return most
    }

    // MARK: - Choosing connections

    /// Sends waiting pushes, as far as connections have room.
    func progressed() {
        guard !isPumping else { return }
        isPumping = true
        let now = ContinuousClock.now
        for role in APNsConnection.Role.allCases where !waiting[role.index].isEmpty { sendWaiting(role, now) }
        isPumping = false
        metrics.streams.set(connections.reduce(0) { $0 + $1.machine.openStreams })
        streams.count.store(maximumStreams(now), ordering: .relaxed)
        if waiting.contains(where: { !$0.isEmpty }) { scheduleCheck() }
    }

    private func sendWaiting(_ role: APNsConnection.Role, _ now: ContinuousClock.Instant) {
        let date = clock()
        var used: [APNsConnection] = []
        var unflushed = 0
        func flush() {
            for connection in used { connection.flush() }
            unflushed = 0
        }
        while let attempt = waiting[role.index].first {
            if let reason = Self.overdue(attempt, .now) {
                waiting[role.index].removeFirst()
                finish(attempt, .notSent(reason))
                continue
            }
            guard let connection = connection(for: role, now) else { break }
            guard let token = provider(for: connection, date) else { continue }
            waiting[role.index].removeFirst()
            connection.send(attempt, with: token, now: now)
            if !used.contains(where: { $0 === connection }) { used.append(connection) }
            unflushed += 1
            // A process that is suspended (SIGSTOP) would send unflushed requests late.
            if unflushed == Self.flushSize { flush() }
        }
        flush()
        // Urgent pushes get a connection of their own, even if a shared one had room.
        if !waiting[role.index].isEmpty || !connections.contains(where: { $0.role == role && serves(role, $0) }) {
            addConnection(for: role, now)
        }
    }

    private static func overdue(_ attempt: APNsAttempt, _ now: ContinuousClock.Instant) -> NotSentReason? {
        // `sendBefore` is checked here for each push, right before its stream opens.
        if attempt.call.sendBefore <= now { return .tooLate }
        return attempt.deadline <= now ? .saturated : nil
    }

    /// The connection with the fewest streams that has room for a push.
    ///
    /// An urgent push may use a shared connection. A stalled connection is used only if the pool has no room for
    /// another one in its place, and one that hangs is not used: a push that waits is better than one that is in doubt.
    private func connection(for role: APNsConnection.Role, _ now: ContinuousClock.Instant) -> APNsConnection? {
        func best(_ role: APNsConnection.Role, _ responsiveness: APNsConnection.Machine.Responsiveness)
            -> APNsConnection?
        {
            var best: APNsConnection?
            for connection in connections
            where connection.role == role && connection.hasRoom
                && connection.machine.responsiveness(now: now) == responsiveness
            {
                if connection.machine.openStreams < best?.machine.openStreams ?? .max { best = connection }
            }
            return best
        }
        if let own = best(role, .normal) { return own }
        if role == .urgent, let shared = best(.shared, .normal) { return shared }
        return mayAddConnection(for: role, now) ? nil : best(role, .stalled)
    }

    /// The provider token for a request; `nil` if the connection must be replaced first.
    private func provider(for connection: APNsConnection, _ date: Date) -> ProviderToken? {
        do {
            let newest = try tokens.newest(isNewConnection: connection.token.current == nil, now: date)
            switch connection.token.choose(newest: newest, now: date) {
            case .use(let token): return token
            case .replaceConnection: connection.drain()
            }
        } catch {
            // Signing fails only without memory or randomness.
            logger.error("no provider token signed", metadata: ["error": "\(error)"])
            connection.drain()
            stop("signing")
        }
        return nil
    }

    private func maximum(_ role: APNsConnection.Role) -> Int { role == .shared ? limits.maximumConnections : 1 }

    /// Stalled connections do not count, but no more than the maximum are replaced.
    private func mayAddConnection(for role: APNsConnection.Role, _ now: ContinuousClock.Instant) -> Bool {
        guard !isClosing, backoffs[role.index].mayConnect(now: now) else { return false }
        var usable = 0
        var all = 0
        for connection in connections where connection.role == role {
            switch connection.machine.phase {
            case .connecting: return false
            case .open:
                // A connection whose provider token is not verified yet may have room for many soon.
                let isNormal = connection.machine.responsiveness(now: now) == .normal
                if isNormal, !connection.machine.isVerified { return false }
                all += 1
                if isNormal { usable += 1 }
            case .draining, .closed: continue
            }
        }
        return usable < maximum(role) && all < 2 * maximum(role)
    }

    private func addConnection(for role: APNsConnection.Role, _ now: ContinuousClock.Instant) {
        if mayAddConnection(for: role, now) {
            let connection = APNsConnection(role: role, server: server, limits: limits, pool: self)
            connections.append(connection)
            connection.connect(to: server, tls: tls, limits: limits, on: eventLoop)
        } else if !connections.contains(where: { serves(role, $0) }) {
            failWaiting(role.index, .unreachable)
        }
    }

    /// Whether a push of the role may wait for the connection.
    private func serves(_ role: APNsConnection.Role, _ connection: APNsConnection) -> Bool {
        switch connection.machine.phase {
        case .connecting, .open: connection.role == role || role == .urgent && connection.role == .shared
        case .draining, .closed: false
        }
    }

    private func scheduleProgress() {
        guard !isProgressScheduled else { return }
        isProgressScheduled = true
        let own = NIOLoopBound(self, eventLoop: eventLoop)
        eventLoop.execute {
            own.value.isProgressScheduled = false
            own.value.progressed()
        }
    }

    private func scheduleCheck() {
        guard !isCheckScheduled else { return }
        isCheckScheduled = true
        let own = NIOLoopBound(self, eventLoop: eventLoop)
        eventLoop.scheduleTask(in: Self.waitingCheck) { own.value.checkWaiting() }
    }

    private func checkWaiting() {
        isCheckScheduled = false
        let now = ContinuousClock.now
        for role in waiting.indices {
            let overdue = waiting[role].contains { Self.overdue($0, now) != nil }
            guard overdue else { continue }
            let attempts = exchange(&waiting[role], with: [])
            for attempt in attempts {
                if let reason = Self.overdue(attempt, now) {
                    finish(attempt, .notSent(reason))
                } else {
                    waiting[role].append(attempt)
                }
            }
        }
        progressed()
    }

    // MARK: - From connections

    func connected(_ connection: APNsConnection) {
        metrics.connections.set(openConnections)
        logger.debug("connected to APNs", metadata: ["role": "\(connection.role)"])
    }

    private var openConnections: Int { connections.count { $0.machine.phase != .connecting } }

    func ended(_ connection: APNsConnection, reason: String) {
        connections.removeAll { $0 === connection }
        metrics.connections.set(openConnections)
        if connection.hasFailed, !isClosing {
            backoffs[connection.role.index].failed(now: .now, random: .random(in: 0...1))
            logger.warning(
                "no use of a connection to APNs", metadata: ["role": "\(connection.role)", "error": "\(reason)"])
        } else {
            logger.debug(
                "connection to APNs ended", metadata: ["role": "\(connection.role)", "reason": "\(reason)"])
        }
        progressed()
        reportIfClosed()
    }

    private func reportIfClosed() {
        guard isClosing, connections.isEmpty else { return }
        for report in exchange(&onClosed, with: []) { report() }
    }

    /// The server closes the connection for a reason that may concern the key.
    func closing(_ connection: APNsConnection, for reason: String) {
        if APNsAnswerRules.stopping.contains(reason) { stop(reason) }
    }

    /// The server has not processed a request, so it goes to another connection at once.
    func notProcessed(_ attempt: APNsAttempt) {
        var attempt = attempt
        guard attempt.repeats.mayMove else { return finish(attempt, .notSent(.unreachable)) }
        attempt.repeats.moves += 1
        sendAgain(attempt)
    }

    private func sendAgain(_ attempt: APNsAttempt) {
        if isClosing { return finish(attempt, .notSent(.unreachable)) }
        if admission.reason != nil, !attempt.isProbe { return finish(attempt, .notSent(.connectionPoolStopped)) }
        waiting[attempt.call.role.index].prepend(attempt)
        // The connection may have ended, and then reports no progress.
        scheduleProgress()
    }

    /// A connection has received a response.
    func answered(
        _ attempt: APNsAttempt, _ answer: APNsAnswer, in duration: Duration, on connection: APNsConnection
    ) {
        var attempt = attempt
        metrics.answered(answer, in: duration)
        // A server that shuts down on each connection must not be connected to again and again.
        if answer.reason != APNsAnswerRules.shutdown { backoffs[connection.role.index].succeeded() }
        if APNsAnswerRules.verifiesToken(answer) { connection.verify() }
        switch APNsAnswerRules.action(for: answer, repeats: attempt.repeats) {
        case .deliver:
            count(answer, attempt)
            finish(attempt, .answered(answer))
        case .renewToken:
            attempt.repeats.hasRenewedToken = true
            renewToken(of: connection, for: attempt, answer)
        case .replaceConnection:
            connection.drain()
            if answer.reason == APNsAnswerRules.shutdown {
                attempt.repeats.moves += 1
            } else {
                attempt.repeats.hasReplacedConnection = true
            }
            sendAgain(attempt)
        case .keepToken:
            connection.token.refuseRenewals(now: clock())
            attempt.repeats.hasKeptToken = true
            sendAgain(attempt)
        case .stop(let reason):
            stop(reason)
            finish(attempt, .answered(answer))
        }
    }

    private func renewToken(of connection: APNsConnection, for attempt: APNsAttempt, _ answer: APNsAnswer) {
        let now = clock()
        guard let refused = attempt.provider,
            let replacement = try? tokens.replacement(of: refused, now: now)
        else {
            // A token that was signed just now is too old for APNs: the clock of this machine is wrong.
            stop(APNsAnswerRules.expiredToken)
            return finish(attempt, .answered(answer))
        }
        if !connection.token.replaceRefused(by: replacement, now: now) { connection.drain() }
        sendAgain(attempt)
    }

    /// Counts refused device tokens, among those that Apple had accepted before.
    private func count(_ answer: APNsAnswer, _ attempt: APNsAttempt) {
        let isRefused = APNsAnswerRules.isTokenRefusal(answer)
        guard case .push(let push) = attempt.call, push.isProven, case .device(let token) = push.destination,
            admission.reason == nil, isRefused || answer.status == 200
        else { return }
        if refusals.record(tokenHash: token.bytes.hashValue, isRefused: isRefused, now: .now) {
            refusals.reset()
            stop(APNsAnswerRules.tokenRefusals)
        }
    }

    // MARK: - Stopping

    /// Sends nothing more for a time.
    ///
    /// “If you revoke your authentication token, close all connections to APNs, fix the problem” (Apple, “Establishing
    /// a connection to APNs”): the next push after that time uses a new connection.
    private func stop(_ reason: String) {
        let before = admission.reason
        admission.stop(reason: reason, now: .now)
        if before == nil || before != reason {
            logger.error("connection pool to APNs stopped", metadata: ["reason": "\(reason)"])
            metrics.stopped(for: reason)
        }
        failWaiting(.connectionPoolStopped)
        for connection in connections { connection.drain() }
    }

    private func failWaiting(_ reason: NotSentReason) {
        for role in waiting.indices { failWaiting(role, reason) }
    }

    private func failWaiting(_ role: Int, _ reason: NotSentReason) {
        for attempt in exchange(&waiting[role], with: []) { finish(attempt, .notSent(reason)) }
    }

    func finish(_ attempt: APNsAttempt, _ outcome: SendOutcome) {
        metrics.finished(outcome)
        if attempt.isProbe { probeEnded(outcome, isToProvenDevice: attempt.call.isToProvenDevice) }
        attempt.outcome.resume(returning: outcome)
    }

    private func probeEnded(_ outcome: SendOutcome, isToProvenDevice: Bool) {
        guard let reason = admission.reason else { return }
        var result = ConnectionPoolAdmission.ProbeResult.unknown
        if case .answered(let answer) = outcome {
            result = ConnectionPoolAdmission.result(
                of: answer, isToProvenDevice: isToProvenDevice, stoppedFor: reason)
        }
        admission.probeEnded(result, now: .now)
        if admission.reason == nil {
            logger.notice("connection pool to APNs sends again", metadata: ["reason": "\(reason)"])
            metrics.resumed()
        }
    }
}

extension APNsConnection.Role {
    fileprivate var index: Int {
        switch self {
        case .unproven: 0
        case .urgent: 1
        case .shared: 2
        }
    }
}
