import Foundation
import GatehouseInstruments
import GatehouseServiceContracts
import Logging

/// The steps from a claim to its outcome, for pushes to users and for pushes to segments.
struct PushDelivery: Sendable {
    /// What is to be done with a claim.
    enum Preparation {
        case send(RenderedPush)
        case decided(DeliveryDecision)
    }

    let queue: PushQueueStore
    let pushService: any PushService
    let liveness: SessionLiveness
    let protection: PushTokenProtection
    let rules: DeliveryRules
    var limits = PushSender.Limits()
    let metrics: PushMetrics
    let logger: Logger

    /// Removes the devices of claims whose sessions have ended.
    ///
    /// - Returns: the claims, and the ends of the sessions that tokens was asked about; `nil` if tokens has not
    ///   answered for too long.
    func checkingSessions(
        of claims: [ClaimedTarget]
    ) async -> (claims: [ClaimedTarget], expirations: [UUID: Date])? {
        let unchecked = Set(claims.filter(rules.mustCheckSession).compactMap(\.device?.session))
        guard !unchecked.isEmpty else { return (claims, [:]) }
        switch await liveness.check(unchecked) {
        case .unknown: return (claims, [:])
        case .overdue: return nil
        case .live(let live, until: let expirations):
            let ended = unchecked.subtracting(live)
            let checked = claims.map { claim in
                var claim = claim
                if let session = claim.device?.session, ended.contains(session) { claim.device = nil }
                return claim
            }
            return (checked, expirations)
        }
    }

    /// Stores when the sessions of claims end, so that tokens is not asked again before. The senders call it after they
    /// have begun to send, because a locked row must delay no push.
    func keepLiveness(of claims: [ClaimedTarget], _ expirations: [UUID: Date]) async {
        do {
            try await queue.keepLiveness(of: claims, expirations)
        } catch {
            // They are read again.
            logger.warning("lifetimes of sessions could not be kept", error: error)
        }
    }

    /// Counts pushes that are about to be sent, if they have a cap.
    ///
    /// - Returns: those that are not sent, because their users have received enough pushes today.
    func capped(_ claims: [(claim: ClaimedTarget, push: PushContent)]) async throws -> Set<PushTarget> {
        try await queue.capped(
            claims.compactMap { claim, push in
                push.capPerDay.map { .init(claim: claim, app: push.bundleID, cap: $0) }
            }, userCap: limits.capPerDay)
    }

    /// The outcome of a push whose own outcome PostgreSQL refuses, so that it holds up no other.
    func unrecordable(_ claim: ClaimedTarget, _ decision: DeliveryDecision, _ error: any Error) -> DeliveryDecision {
        logger.error(
            "the outcome of a push cannot be recorded", error: error,
            metadata: [
                "push_id": "\(claim.target.push.uuidString.lowercased())",
                "device_id": "\(claim.target.device.uuidString.lowercased())", "state": "\(decision.state)",
                "reason": "\(decision.reason ?? "")",
            ])
        return DeliveryRules.unrecordable(isAttempt: decision.isAttempt)
    }

    /// The time from which a claim is not sent: its session and its token's owner were checked too long before, or its
    /// lease ends.
    func sendBefore(claimedAt: ContinuousClock.Instant) -> ContinuousClock.Instant {
        claimedAt + min(limits.freshness, limits.lease - limits.leaseMargin)
    }

    /// Renders the push of a claim, unless its outcome is decided without sending.
    ///
    /// - Parameter claimedAt: before the statement that made the claim.
    func prepare(
        _ claim: ClaimedTarget, of push: PushContent, isCancelled: Bool = false, claimedAt: ContinuousClock.Instant
    ) -> Preparation {
        if let decision = rules.decide(claim, of: push, isCancelled: isCancelled) { return .decided(decision) }
        let sendBefore = sendBefore(claimedAt: claimedAt)
        guard let rendered = RenderedPush(claim, of: push, protection: protection, sendBefore: sendBefore) else {
            // The key is not among this replica's: another one, or a later start, may have it.
            return .decided(DeliveryDecision(state: .queued, reason: "unknownKey", dueAt: claim.claimedAt + 60))
        }
        return .send(rendered)
    }

    /// Sends one push.
    ///
    /// - Parameter claimedAt: before the statement that made the claim.
    func send(
        _ rendered: RenderedPush, _ claim: ClaimedTarget, of push: PushContent, claimedAt: ContinuousClock.Instant
    ) async -> (outcome: SendOutcome, decision: DeliveryDecision) {
        let start = ContinuousClock.now
        let outcome = start < rendered.sendBefore ? await pushService.send(rendered) : .notSent(.tooLate)
        // By PostgreSQL's clock.
        let now = claim.claimedAt + (ContinuousClock.now - claimedAt) / .seconds(1)
        var decision = rules.decide(
            outcome, attempts: claim.attempts, of: push, now: now, random: .random(in: 0..<1))
        // The registration says so already.
        if rendered.isProven, decision.registration == .accepted { decision.registration = .none }
        if case .answered = outcome { metrics.answer.record(.now - start) }
        return (outcome, decision)
    }
}
