import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

@testable import TokensService

/// A session in PostgreSQL, and beside it what the model says of its row.
struct ModelledSession {
    enum Step {
        case rotate(RefreshToken)
        case countLateReplay(generation: Int32)
        case revokeStolen(generation: Int32)
        case logOut(RefreshToken)
        case passTime(seconds: Double)
    }

    /// The outcome of a step.
    enum Event: CaseIterable {
        case rotated, rotatedUpToTheAbsoluteExpiry
        case counted, ended, timePassed
        // Nothing was written, and why.
        case isGone, hasExpired, isNotCurrent, isCountedAlready, isAnotherGeneration
    }

    private let service: TokensFixture
    private let id: UUID
    /// The session's own, by generation.
    private var made: [RefreshToken]
    private var model: RotationState?
    /// By PostgreSQL's clock, when it was last asked.
    private var now: Date

    static func signIn(_ service: TokensFixture) async throws -> ModelledSession {
        let token = try await service.signIn()
        let reading = try #require(try await service.store.read(token.sessionID))
        let (start, lifetimes) = (reading.state.rotatedAt, service.store.lifetimes)
        let model = RotationState(
            generation: 0, currentHash: token.hash, previousHash: nil, rotatedAt: start, lateReplays: 0,
            lateReplayed: false, expiresAt: start + min(lifetimes.idle, lifetimes.absolute),
            absoluteExpiresAt: start + lifetimes.absolute)
        return ModelledSession(
            service: service, id: token.sessionID, made: [token], model: model, now: reading.grant.now)
    }

    func randomStep(using random: inout SeededGenerator) -> Step {
        let current = Int32(made.count - 1)
        let near = [current, current, current, current - 1, current + 1].randomElement(using: &random) ?? current
        let token = made[Int(min(max(near, 0), current))]
        switch Int.random(in: 0..<40, using: &random) {
        case 0..<16: return .rotate(token)
        case 16..<20: return .rotate(RefreshToken(sessionID: id, generation: max(near, 0), keys: service.keys))
        case 20..<28: return .countLateReplay(generation: near)
        case 28: return .revokeStolen(generation: near)
        case 29: return .logOut(token)
        default: return .passTime(seconds: Bool.random(using: &random) ? 300 : 600)
        }
    }

    /// The row as it is and as it should be, with times in whole microseconds, as PostgreSQL has them.
    mutating func rowAndModel() async throws -> (row: RotationState?, model: RotationState?) {
        let reading = try await service.store.read(id)
        now = reading?.grant.now ?? now
        return (reading?.state.inMicroseconds, model?.inMicroseconds)
    }

    // MARK: - Steps

    /// Takes a step on both sides; an issue is recorded when only one of them writes.
    mutating func take(_ step: Step) async throws -> Event {
        switch step {
        case .rotate(let token): try await rotate(token)
        case .countLateReplay(let generation): try await countLateReplay(generation)
        case .revokeStolen(let generation): try await revokeStolen(generation)
        case .logOut(let token): try await logOut(token)
        case .passTime(let seconds): try await passTime(seconds)
        }
    }

    private mutating func rotate(_ token: RefreshToken) async throws -> Event {
        let presented = RotationRules.Presented(generation: token.generation, hash: token.hash, isGenuine: true)
        let decision = model.map { service.rules.decide(on: presented, of: $0, at: now) }
        let successor = RefreshToken(sessionID: id, generation: token.generation + 1, keys: service.keys)
        let grant = try await service.store.rotate(
            token, to: successor, sealed: service.keys.seal(successor, under: token), ipAddress: nil)
        let (isRotated, isDue) = (grant != nil, decision == .rotate)
        #expect(isRotated == isDue)
        guard let grant, let before = model else {
            return model == nil ? .isGone : decision == .refuse(.expired) ? .hasExpired : .isNotCurrent
        }
        let after = before.rotated(
            to: successor.hash, at: grant.now, idleLifetime: service.store.lifetimes.idle)
        model = after
        made.append(successor)
        return after.expiresAt == after.absoluteExpiresAt ? .rotatedUpToTheAbsoluteExpiry : .rotated
    }

    private mutating func countLateReplay(_ generation: Int32) async throws -> Event {
        let isCounted = try await service.store.countLateReplay(of: id, generation: generation)
        let isDue = model?.generation == generation && model?.lateReplayed == false
        #expect(isCounted == isDue)
        guard let before = model else { return .isGone }
        guard isCounted else { return before.generation == generation ? .isCountedAlready : .isAnotherGeneration }
        model = before.countingLateReplay()
        return .counted
    }

    private mutating func revokeStolen(_ generation: Int32) async throws -> Event {
        let hasEnded = try await service.store.revokeStolen(id, generation: generation, theft: .olderToken)
        let isDue = model?.generation == generation
        #expect(hasEnded == isDue)
        guard hasEnded else { return model == nil ? .isGone : .isAnotherGeneration }
        model = nil
        return .ended
    }

    private mutating func logOut(_ token: RefreshToken) async throws -> Event {
        try await service.store.revoke(id, holding: token.hash, reason: .logout)
        guard let before = model else { return .isGone }
        guard before.currentHash == token.hash || before.previousHash == token.hash else { return .isNotCurrent }
        model = nil
        return .ended
    }

    private mutating func passTime(_ seconds: Double) async throws -> Event {
        try await service.age(id, by: seconds)
        model?.rotatedAt -= seconds
        model?.expiresAt -= seconds
        model?.absoluteExpiresAt -= seconds
        return .timePassed
    }
}

extension RotationState {
    fileprivate var inMicroseconds: RotationState {
        var state = self
        state.rotatedAt = rotatedAt.inMicroseconds
        state.expiresAt = expiresAt.inMicroseconds
        state.absoluteExpiresAt = absoluteExpiresAt.inMicroseconds
        return state
    }
}

extension Date {
    fileprivate var inMicroseconds: Date {
        Date(timeIntervalSinceReferenceDate: (timeIntervalSinceReferenceDate * 1_000_000).rounded() / 1_000_000)
    }
}
