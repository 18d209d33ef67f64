import Foundation

@testable import TokensService

/// A world small enough to be explored whole: one session's row, PostgreSQL's clock, one honest app that keeps asking,
/// and its requests, each somewhere between arrival and answer, in whatever replica.
///
/// A request takes the steps that `Refresher` takes, and anything may come between any two: steps of other requests,
/// time, a step of PostgreSQL's clock, the app's losing patience. A replica that dies is a request that takes no
/// further step. Times are relative to now; a token is the number of its generation, of which there is one.
struct RotationModel {
    typealias Token = Int32

    struct Row: Hashable {
        var current: Token = 0
        var previous: Token?
        var sinceRotation = 0
        var lateReplays = 0
        var lateReplayed = false
        /// In units of ``idleLifetime``.
        var expiresIn = 1
        var absoluteExpiresIn = 2
    }

    struct Request: Hashable {
        enum Step: Hashable {
            /// The conditional UPDATE: the first step of a request that acquired the race lock, or goes without it.
            case update
            /// The first step of a request that is told that another holds the lock.
            case read
            /// The conditional writes that the rules asked for, after what was read.
            case count(current: Token)
            case revoke(current: Token)
            /// Only the answer is left to send.
            case answer(Token)
        }

        var token: Token
        var step: Step
        /// Seconds since it came to its replica.
        var age = 0
        /// The app no longer waits: the answer is lost.
        var isAbandoned = false
    }

    enum Violation: Error {
        /// A generation has two tokens.
        case forked
        /// An app was signed out that had lost no more responses in a row than the limit allows.
        case signedOut
        /// An app that asks undisturbed got no token.
        case stuck
        /// A session that had expired was refreshed.
        case outlived
        /// Two holders took turns for longer than they should have.
        case unseen
    }

    /// Longer than every window, so that only the expiries matter beside it.
    static let idleLifetime = 1_000

    let rules: FlawedRules
    /// `nil` when the session was revoked.
    var row: Row? = Row()
    /// What the app has stored; its processes share it.
    var held: Token = 0
    var requests: [Request] = []
    /// How many generations in a row, up to the one before this, had their predecessor presented late, and whether
    /// this one had: the app's own account, which the row's count must not run ahead of.
    var lateRun = 0
    var cameLate = false

    /// The app presents what it has stored.
    mutating func send(seesLock: Bool) {
        requests.append(Request(token: held, step: seesLock ? .read : .update))
    }

    /// The app stops waiting: a time-out, a kill, a lost connection, or the replica died.
    mutating func giveUp(_ index: Int) {
        requests[index].isAbandoned = true
    }

    mutating func passTime(_ seconds: Int) {
        stepClock(seconds)
        for index in requests.indices { requests[index].age += seconds }
    }

    /// PostgreSQL's clock is another from now on.
    mutating func stepClock(_ seconds: Int) {
        row?.sinceRotation += seconds
        row?.expiresIn -= seconds / Self.idleLifetime
        row?.absoluteExpiresIn -= seconds / Self.idleLifetime
    }

    /// One step of one request.
    mutating func advance(_ index: Int) throws(Violation) {
        var request = requests.remove(at: index)
        switch request.step {
        case .update:
            request.step = try rotate(request.token).map { .answer($0) } ?? .read
        case .read:
            guard let step = try decide(on: request) else { return }
            request.step = step
        case .count(let current):
            request.step = countLateReplay(of: current) ? .answer(current) : .read
        case .revoke(let current):
            guard row?.current != current else { return row = nil }
            request.step = .read
        case .answer(let token):
            // Another process may have stored a newer one.
            if !request.isAbandoned, held == request.token { held = token }
            return
        }
        requests.append(request)
    }

    /// Where the app from now on asks alone and undisturbed, it has a working token in the end.
    func settle() throws(Violation) {
        var world = self
        world.requests = []
        world.send(seesLock: false)
        while !world.requests.isEmpty { try world.advance(0) }
        guard let row = world.row, row.expiresIn > 0 else { return }
        guard world.held == row.current, world.held > held else { throw .stuck }
    }

    // MARK: - The server

    private mutating func rotate(_ token: Token) throws(Violation) -> Token? {
        guard var row, row.current == token || rules.flaw == .updatesUnconditionally,
            row.expiresIn > 0 || rules.flaw == .updatesExpiredSessions
        else { return nil }
        if row.expiresIn <= 0 { throw .outlived }
        try make(token + 1)
        row.write(rules.rotated(row.state))
        self.row = row
        lateRun = cameLate ? min(lateRun + 1, rules.limit) : 0
        cameLate = false
        return row.current
    }

    private func make(_ token: Token) throws(Violation) {
        if let row, token <= row.current { throw .forked }
    }

    private mutating func countLateReplay(of current: Token) -> Bool {
        guard var row, row.current == current, !row.lateReplayed else { return false }
        row.write(row.state.countingLateReplay())
        self.row = row
        return true
    }

    /// - Returns: `nil` when the request ends without a token.
    private mutating func decide(on request: Request) throws(Violation) -> Request.Step? {
        guard let row else { return nil }
        if request.token == row.previous, row.sinceRotation - request.age > FlawedRules.retryWindow { cameLate = true }
        switch rules.decide(on: request.token, age: request.age, of: row.state) {
        case .rotate: return .update
        case .repeatSuccessor:
            if rules.flaw == .makesANewSuccessorForEachRetry { try make(row.current) }
            return .answer(rules.flaw == .answersRetriesWithoutSuccessor ? request.token : row.current)
        case .countLateReplay: return .count(current: row.current)
        case .revoke(.lateReplay):
            guard lateRun >= rules.limit else { throw .signedOut }
            return .revoke(current: row.current)
        case .tryLater: return nil
        case .refuse(.expired):
            guard row.expiresIn <= 0 else { throw .signedOut }
            return nil
        case .revoke(.olderToken), .refuse: throw .signedOut
        }
    }
}

extension RotationModel.Row {
    var state: RotationState {
        RotationState(
            generation: current, currentHash: FlawedRules.hash(of: current),
            previousHash: previous.map(FlawedRules.hash(of:)), rotatedAt: .reference - TimeInterval(sinceRotation),
            lateReplays: lateReplays, lateReplayed: lateReplayed, expiresAt: .reference + TimeInterval(expiresIn),
            absoluteExpiresAt: .reference + TimeInterval(absoluteExpiresIn))
    }

    mutating func write(_ state: RotationState) {
        (current, previous) = (state.generation, state.previousHash.map { _ in state.generation - 1 })
        sinceRotation = Int(Date.reference.timeIntervalSince(state.rotatedAt))
        (lateReplays, lateReplayed) = (state.lateReplays, state.lateReplayed)
        expiresIn = Int(state.expiresAt.timeIntervalSince(.reference))
        absoluteExpiresIn = Int(state.absoluteExpiresAt.timeIntervalSince(.reference))
    }
}
