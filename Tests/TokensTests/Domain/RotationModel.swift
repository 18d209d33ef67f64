import Foundation

@testable import TokensService

/// A world small enough to be explored whole: one session's row, PostgreSQL's clock, one honest device that keeps
/// asking, and its requests, each somewhere between arrival and answer, in whatever replica.
///
/// A request takes the steps that `Refresher` takes, and another request, a jump of the clock or its death may come
/// between any two: the conditional UPDATE, the read, the conditional write that the rules ask for.
struct RotationModel: Hashable {
    struct Token: Hashable {
        var generation: Int32
        var hash: [UInt8]
    }

    struct Request: Hashable {
        enum Step: Hashable {
            case update, read
            case write(RowAsRead)
        }
        struct RowAsRead: Hashable {
            var generation: Int32
            var lateReplayed: Bool
            var decision: Decision
        }
        enum Decision: Hashable { case rotate, answer, count, revoke }

        var token: Token
        var arrivedAt: Int
        var step = Step.update
        /// The device has given up on it: the answer, if any, is lost.
        var isAbandoned = false
    }

    enum Violation: Error, Equatable {
        case signedOut(String)
    }

    let rules: RotationRules
    var row: Row
    var now = 0
    var held = Token(generation: 0, hash: [0])
    var requests: [Request] = []
    var sent = 0
    /// Rotations so far; makes every successor's hash different from all others.
    var rotations: UInt8 = 0
    var isRevoked = false

    struct Row: Hashable {
        var generation: Int32 = 0
        var currentHash: [UInt8] = [0]
        var previousHash: [UInt8]?
        var rotatedAt = 0
        var lateReplays = 0
        var lateReplayed = false

        func state() -> SessionState {
            SessionState(
                generation: generation, currentHash: currentHash, previousHash: previousHash,
                rotatedAt: .at(rotatedAt), lateReplays: lateReplays, lateReplayed: lateReplayed,
                expiresAt: .distantFuture, absoluteExpiresAt: .distantFuture)
        }

        init() {}

        init(_ state: SessionState) {
            generation = state.generation
            currentHash = state.currentHash
            previousHash = state.previousHash
            rotatedAt = Int(state.rotatedAt.timeIntervalSince1970)
            lateReplays = state.lateReplays
            lateReplayed = state.lateReplayed
        }
    }

    init(rules: RotationRules) {
        self.rules = rules
        self.row = Row()
    }

    static func == (left: Self, right: Self) -> Bool {
        left.row == right.row && left.now == right.now && left.held == right.held && left.requests == right.requests
            && left.sent == right.sent && left.isRevoked == right.isRevoked
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(row)
        hasher.combine(now)
        hasher.combine(held)
        hasher.combine(requests)
        hasher.combine(sent)
    }

    // MARK: - What may happen

    /// The device asks; it waits for one answer at a time.
    mutating func send() {
        sent += 1
        requests.append(Request(token: held, arrivedAt: now))
    }

    /// The device stops waiting: a time-out, a killed app, a lost connection.
    mutating func abandon() {
        for index in requests.indices { requests[index].isAbandoned = true }
    }

    /// The replica that has the request dies.
    mutating func crash(_ index: Int) {
        requests.remove(at: index)
    }

    mutating func jump(_ seconds: Int) {
        now += seconds
    }

    /// One step of one request.
    mutating func advance(_ index: Int) throws(Violation) {
        let request = requests[index]
        switch request.step {
        case .update:
            if try rotate(request) { answer(index) } else { requests[index].step = .read }
        case .read:
            let presented = RotationRules.Presented(
                generation: request.token.generation, hash: request.token.hash, isGenuine: true,
                age: TimeInterval(now - request.arrivedAt))
            let decision: Request.Decision
            switch rules.decide(on: presented, of: isRevoked ? nil : row.state(), at: .at(now)) {
            case .rotate: decision = .rotate
            case .repeatSuccessor: decision = .answer
            case .countLateReplay: decision = .count
            case .revoke(.lateReplay): decision = .revoke
            case .tryLater:
                requests.remove(at: index)
                return
            case .revoke(.olderToken): throw .signedOut("taken for a thief")
            case .refuse(let refusal): throw .signedOut("\(refusal)")
            }
            requests[index].step = .write(
                .init(generation: row.generation, lateReplayed: row.lateReplayed, decision: decision))
        case .write(let read):
            let isUnchanged = read.generation == row.generation && read.lateReplayed == row.lateReplayed
            switch read.decision {
            case .rotate:
                if try rotate(request) { answer(index) } else { requests[index].step = .read }
            case .answer:
                answer(index, generation: read.generation)
            case .count where isUnchanged:
                row = Row(row.state().countingLateReplay())
                answer(index)
            case .revoke where isUnchanged:
                isRevoked = true
            case .count, .revoke:
                requests[index].step = .read
            }
        }
    }

    /// The conditional UPDATE.
    private mutating func rotate(_ request: Request) throws(Violation) -> Bool {
        guard !isRevoked, request.token.generation == row.generation, request.token.hash == row.currentHash else {
            return false
        }
        rotations += 1
        row = Row(row.state().rotated(to: [rotations], at: .at(now), idleLifetime: 1))
        return true
    }

    private mutating func answer(_ index: Int, generation: Int32? = nil) {
        let request = requests.remove(at: index)
        guard !request.isAbandoned else { return }
        // What was sealed for the predecessor's holder is the row's current token as it was read.
        let isCurrent = (generation ?? row.generation) == row.generation
        held = Token(generation: generation ?? row.generation, hash: isCurrent ? row.currentHash : row.previousHash!)
    }
}

extension Date {
    fileprivate static func at(_ seconds: Int) -> Date { Date(timeIntervalSince1970: TimeInterval(seconds)) }
}
