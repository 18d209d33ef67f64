import TestKit

/// A device, and perhaps a thief with a copy of its token, under given rules: events in the order of time.
struct DeviceSimulation<Chain: SessionChain> {
    /// The outcome.
    struct Outcome {
        /// Sign-outs although no thief had used a stolen token.
        var spuriousLogouts = 0
        /// Rotations of the session from the thief's first use of the token on; `nil` when the thief was not found.
        var rotationsUntilFound: Int?
    }

    private let plan: DevicePlan
    private var random: SeededGenerator
    private var chain = Chain()
    private var outcome = Outcome()
    /// The newest token of the session.
    private var newest: Int32 = 0
    private var serverSkews: ArraySlice<(from: Int, seconds: Int)>
    private var serverSkew = 0

    private var held: Int32 = 0
    private var accessExpiresAt = 0
    private var uses: ArraySlice<Int>
    private var losses: ArraySlice<DevicePlan.Loss>
    /// When the app retries by itself.
    private var retryAt: Int?
    private var retriesLeft: ArraySlice<Int> = []

    private var stolen: Int32?
    private var thiefActsAt: Int?
    /// The newest token when the thief first used its own.
    private var newestAtTheft: Int32?

    init(_ plan: DevicePlan, random: SeededGenerator) {
        self.plan = plan
        self.random = random
        serverSkews = plan.serverSkews[...]
        uses = plan.uses[...]
        losses = plan.losses[...]
        thiefActsAt = plan.thief == nil ? nil : plan.stealsAt
    }

    mutating func run() -> Outcome {
        while outcome.rotationsUntilFound == nil {
            let now = min(uses.first ?? .max, retryAt ?? .max, thiefActsAt ?? .max)
            guard now < DevicePlan.days * DevicePlan.day else { break }
            if now == thiefActsAt {
                thiefActsAt = nil
                thiefActs(at: now)
            } else if now == retryAt {
                retryAt = nil
                refresh(at: now)
            } else {
                uses.removeFirst()
                // By the device's clock the access token has expired, or the server refuses it.
                if now + max(plan.skew, 0) >= accessExpiresAt, retryAt == nil { refresh(at: now) }
            }
        }
        return outcome
    }

    // MARK: The device

    private mutating func refresh(at now: Int) {
        switch present(held, at: now) {
        case .tryLater: retryAt = now + 2
        case .revoked: signedOut(at: now)
        case .token(let successor):
            if plan.thief == .takingTurns, stolen != nil, thiefActsAt == nil { thiefWaits(from: now) }
            guard !isLost(at: now) else { return }
            held = successor
            // Each up to 5 % shorter.
            accessExpiresAt = now + Int.random(in: 3_420...3_600, using: &random)
        }
    }

    private mutating func isLost(at now: Int) -> Bool {
        if let pause = retriesLeft.popFirst() {
            retryAt = now + pause
            return true
        }
        guard let loss = losses.first, loss.at <= now else { return false }
        losses.removeFirst()
        guard !loss.isKill else { return true }
        retryAt = now + loss.retries[0]
        retriesLeft = loss.retries.dropFirst()
        return true
    }

    private mutating func signedOut(at now: Int) {
        if newestAtTheft != nil { return found() }
        outcome.spuriousLogouts += 1
        // Its user signs in again, and the thief has to copy that token.
        chain = Chain()
        (held, newest, stolen) = (0, 0, nil)
        (retryAt, retriesLeft) = (nil, [])
        accessExpiresAt = now + 3_600
        if plan.thief != nil { thiefActsAt = max(now + 60, plan.stealsAt) }
    }

    // MARK: The thief

    private mutating func thiefActs(at now: Int) {
        guard let token = stolen else {
            stolen = held
            return thiefWaits(from: now)
        }
        newestAtTheft = newestAtTheft ?? newest
        switch present(token, at: now) {
        case .tryLater: thiefActsAt = now + 60
        case .revoked: found()
        case .token(let successor):
            stolen = successor
            if plan.thief == .hourly { thiefActsAt = now + Int.random(in: 3_420...3_600, using: &random) }
        }
    }

    /// Later than any retry window; a thief inside it is in the threat model of docs/reference/tokens.md.
    private mutating func thiefWaits(from now: Int) {
        thiefActsAt = now + Int.random(in: 120...3_000, using: &random)
    }

    private mutating func found() {
        outcome.rotationsUntilFound = newestAtTheft.map { Int(newest - $0) }
    }

    // MARK: The server

    private mutating func present(_ token: Int32, at now: Int) -> ChainAnswer {
        while let next = serverSkews.first, next.from <= now {
            serverSkew = next.seconds
            serverSkews.removeFirst()
        }
        let answer = chain.present(token, at: now + serverSkew)
        if case .token(let successor) = answer { newest = max(newest, successor) }
        return answer
    }
}
