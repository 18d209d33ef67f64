import Foundation
import GatehouseServiceContracts
import Testing

@testable import DevicesService

@Suite struct DeliveryRulesTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let day: TimeInterval = 86_400
    private let rules = DeliveryRules(unseen: UnseenRules(pauseDays: 60, retentionDays: 270))

    private static func content(
        onDoubt: PushDoubt = .repeat, expiresIn: TimeInterval = day, environment: PushEnvironment? = nil
    ) -> PushContent {
        PushContent(
            bundleID: "com.example.app", environment: environment, type: .alert, kind: .alert, priority: .immediate,
            expiresAt: now + expiresIn, payload: [], onDoubt: onDoubt, urgency: .normal)
    }

    private func decide(
        _ outcome: SendOutcome, attempts: Int = 0, of content: PushContent = content(), random: Double = 0
    ) -> DeliveryDecision {
        rules.decide(outcome, attempts: attempts, of: content, now: Self.now, random: random)
    }

    private func answer(_ status: Int, _ reason: String? = nil, retryAfter: Int? = nil) -> SendOutcome {
        .answered(APNsAnswer(status: status, reason: reason, invalidSince: nil, retryAfter: retryAfter))
    }

    // MARK: - States

    @Test func callersKnowEachState() {
        for state in TargetState.allCases { #expect(PushTargetState(rawValue: state.rawValue).isKnown) }
        #expect(PushTargetState.known.count == TargetState.allCases.count)
    }

    // MARK: - Answers

    @Test func acceptedVerifiesTheToken() {
        #expect(
            decide(answer(200)) == DeliveryDecision(state: .accepted, isAttempt: true, registration: .accepted))
    }

    @Test func aTokenThatIsGoneIsInvalidUnlessItRegisteredLater() {
        let since = Self.now - 60
        let outcome = SendOutcome.answered(
            APNsAnswer(status: 410, reason: "Unregistered", invalidSince: since, retryAfter: nil))
        #expect(
            decide(outcome)
                == DeliveryDecision(
                    state: .rejected, reason: "Unregistered", isAttempt: true,
                    registration: .invalid(unlessSeenAfter: since)))
    }

    @Test(arguments: ["BadDeviceToken", "DeviceTokenNotForTopic"])
    func aTokenOfAnotherPlaceIsQuarantined(_ reason: String) {
        #expect(
            decide(answer(400, reason))
                == DeliveryDecision(
                    state: .rejected, reason: reason, isAttempt: true, registration: .invalid(unlessSeenAfter: nil)))
    }

    /// Apple, "Handling notification responses from APNs", except the reasons of other tests.
    @Test(arguments: [
        (400, "BadCollapseId"), (400, "BadExpirationDate"), (400, "BadMessageId"), (400, "BadPriority"),
        (400, "BadTopic"), (400, "DuplicateHeaders"), (400, "InvalidPushType"), (400, "MissingDeviceToken"),
        (400, "MissingTopic"), (400, "PayloadEmpty"), (403, "Forbidden"), (404, "BadPath"), (405, "MethodNotAllowed"),
        (413, "PayloadTooLarge"), (418, nil),
    ])
    func whatAppleWillNeverTakeIsNotRepeated(_ status: Int, _ reason: String?) {
        let decision = decide(answer(status, reason))
        #expect(decision.state == .rejected && decision.dueAt == nil && decision.registration == .none)
        #expect(decision.reason == reason ?? "status 418" && decision.isAttempt)
    }

    @Test(arguments: [
        (403, "ExpiredProviderToken"), (403, "InvalidProviderToken"), (403, "MissingProviderToken"),
        (403, "BadEnvironmentKeyIdInToken"), (403, "UnrelatedKeyIdInToken"), (403, "BadCertificateEnvironment"),
        (400, "TopicDisallowed"), (400, "IdleTimeout"), (429, "TooManyProviderTokenUpdates"),
    ])
    func theConnectionPoolsTroubleIsNotThePushs(_ status: Int, _ reason: String) {
        let decision = decide(answer(status, reason))
        #expect(decision.state == .retryAt && decision.dueAt == Self.now + 60 && decision.registration == .none)
    }

    @Test func tooManyRequestsPauseTheDevice() {
        let decision = decide(answer(429, "TooManyRequests"), attempts: 1)
        #expect(decision.state == .retryAt && decision.dueAt == Self.now + 20)
        #expect(decision.registration == .pause(until: Self.now + 20))
        #expect(decide(answer(429, "TooManyRequests", retryAfter: 300)).dueAt == Self.now + 300)
    }

    /// Apple asks for 15 minutes before the first repetition, and for growing times after that.
    @Test(arguments: [(500, "InternalServerError"), (503, "ServiceUnavailable"), (502, nil)])
    func anUnavailableServerIsAskedLater(_ status: Int, _ reason: String?) throws {
        for (attempts, delay) in [(0, 900.0), (1, 1800), (2, 3600), (6, 57_600), (7, 57_600), (1000, 57_600)] {
            let decision = decide(answer(status, reason), attempts: attempts)
            #expect(decision.state == .retryAt && decision.dueAt == Self.now + delay && decision.isAttempt)
            let jittered = try #require(decide(answer(status, reason), attempts: attempts, random: 0.99).dueAt)
            #expect(jittered > Self.now + delay && jittered <= Self.now + delay * 1.25)
        }
        #expect(decide(answer(status, reason, retryAfter: 7200)).dueAt == Self.now + 7200)
        // At the expiration it is claimed, and ends.
        let short = Self.content(expiresIn: 60)
        #expect(decide(answer(status, reason), of: short).dueAt == short.expiresAt)
    }

    @Test func aServerThatShutsDownIsReplacedAtOnce() {
        #expect(decide(answer(503, "Shutdown")).dueAt == Self.now + 1)
        #expect(decide(answer(503, "Shutdown"), attempts: 3).dueAt == Self.now + 8)
    }

    @Test func aLostAnswerIsTheCallersChoice() {
        let again = decide(.inDoubt)
        #expect(again.state == .retryAt && again.reason == "noAnswer" && again.isAttempt)
        #expect(again.dueAt == Self.now + 5)
        #expect(
            decide(.inDoubt, of: Self.content(onDoubt: .drop))
                == DeliveryDecision(state: .inDoubt, reason: "noAnswer", isAttempt: true))
        // A link that loses each answer may have delivered them all.
        #expect(decide(.inDoubt, attempts: 4).state == .retryAt && decide(.inDoubt, attempts: 5).state == .inDoubt)
    }

    @Test(arguments: NotSentReason.allCases)
    func whatWasNotSentWaitsAndIsNoAttempt(_ reason: NotSentReason) throws {
        let decision = decide(.notSent(reason))
        #expect(decision.state == .queued && decision.reason == reason.rawValue && !decision.isAttempt)
        let delay = try #require(decision.dueAt).timeIntervalSince(Self.now)
        #expect(delay > 0 && delay <= 60)
    }

    // MARK: - Before sending

    private func claim(_ change: (inout ClaimedTarget) -> Void = { _ in }) -> ClaimedTarget {
        var claim = ClaimedTarget(
            target: PushTarget(bucket: Bucket(user: UUID()), push: UUID(), device: UUID()), user: UUID(), leaseEpoch: 1,
            attempts: 0, isTakeover: false, claimedAt: Self.now,
            device: ClaimedDevice(
                tokenHash: Data(), tokenEpoch: 1, sealedToken: Data(), environment: .sandbox,
                lastSeenAt: Self.now, isProven: false, session: UUID()))
        change(&claim)
        return claim
    }

    private func before(
        _ content: PushContent = content(), isCancelled: Bool = false,
        _ change: (inout ClaimedTarget) -> Void = { _ in }
    ) -> DeliveryDecision? {
        rules.decide(claim(change), of: content, isCancelled: isCancelled)
    }

    @Test func aLiveRegistrationIsSentTo() {
        #expect(before() == nil)
        #expect(before(Self.content(environment: .sandbox)) == nil)
        #expect(before { $0.isTakeover = true } == nil)
    }

    @Test func whatMayNotBeSentHasAReason() {
        #expect(before(isCancelled: true) == DeliveryDecision(state: .cancelled))
        #expect(before { $0.device = nil } == DeliveryDecision(state: .suppressed, reason: "sessionEnded"))
        #expect(
            before { $0.device?.lastSeenAt = Self.now - 61 * Self.day }
                == DeliveryDecision(state: .suppressed, reason: "unseen"))
        #expect(before { $0.device?.lastSeenAt = Self.now - 59 * Self.day } == nil)
        #expect(
            before { $0.device?.refusal = "BadDeviceToken" }
                == DeliveryDecision(state: .rejected, reason: "BadDeviceToken"))
    }

    @Test("A push expires: it is dead if an earlier attempt failed, and expired otherwise")
    func expiry() {
        let expired = Self.content(expiresIn: 0)
        #expect(before(expired) == DeliveryDecision(state: .expired))
        #expect(
            before(expired) {
                $0.attempts = 1
                $0.reason = "ServiceUnavailable"
            } == DeliveryDecision(state: .dead, reason: "ServiceUnavailable"))
        for reason in NotSentReason.allCases {
            #expect(before(expired) { $0.reason = reason.rawValue }?.state == .dead)
        }
        #expect(before(expired) { $0.reason = "quietHours" }?.state == .expired)
    }

    @Test func whatADeadReplicaMayHaveSentIsDroppedOnRequest() {
        let drop = Self.content(onDoubt: .drop)
        #expect(before(drop) { $0.isTakeover = true } == DeliveryDecision(state: .inDoubt, reason: "noAnswer"))
        #expect(before(drop) == nil)
    }

    /// A session that was used since has another end.
    @Test func aSessionIsCheckedWhenItsEndMayHaveCome() {
        for (liveUntil, mustCheck) in [
            (nil, true), (Self.now - 1, true), (Self.now, true), (Self.now + 1, false),
        ] as [(Date?, Bool)] {
            #expect(rules.mustCheckSession(of: claim { $0.device?.liveUntil = liveUntil }) == mustCheck)
        }
        #expect(!rules.mustCheckSession(of: claim { $0.device = nil }))
    }

    @Test func aPausedDeviceWaits() {
        #expect(
            before { $0.device?.pausedUntil = Self.now + 30 }
                == DeliveryDecision(state: .queued, reason: "TooManyRequests", dueAt: Self.now + 30))
        #expect(before { $0.device?.pausedUntil = Self.now } == nil)
    }

    // MARK: - The recipient's time

    /// It is 08:00 in UTC.
    private static let timing: RecipientTiming = {
        var timing = RecipientTiming()
        timing.quietHours = QuietHours(from: "22:00", to: "09:00")
        return timing
    }()

    private static func timed(expiresIn: TimeInterval = day, _ timing: RecipientTiming = timing) -> PushContent {
        var content = content(expiresIn: expiresIn)
        content.timing = timing
        return content
    }

    @Test func quietHoursDeferOrSuppress() {
        let end = Self.now + 3600
        let waits = DeliveryDecision(state: .queued, reason: "quietHours", dueAt: end)
        let suppressed = DeliveryDecision(state: .suppressed, reason: "quietHours")
        #expect(before(Self.timed()) == waits)
        #expect(before(Self.timed(expiresIn: 3601)) == waits)
        for seconds in [3600.0, 1] { #expect(before(Self.timed(expiresIn: seconds)) == suppressed) }
        #expect(before(Self.timed(expiresIn: 0)) == DeliveryDecision(state: .expired))
        #expect(before(Self.timed()) { $0.device?.timeZone = "Europe/Berlin" } == nil)
        #expect(before(Self.timed()) { $0.device?.timeZone = "Atlantic/Azores" }?.dueAt == Self.now + 7200)
        // Also what is repeated, and what another replica may have sent.
        let again = before(Self.timed()) {
            $0.attempts = 1
            $0.isTakeover = true
        }
        #expect(again == waits)
    }

    @Test func aPushWaitsForTheTimeOfItsRecipient() {
        var timing = Self.timing
        timing.sendAt = LocalTime("2027-01-15T10:30:00")
        #expect(
            before(Self.timed(timing))
                == DeliveryDecision(state: .queued, reason: "sendAtLocal", dueAt: Self.now + 9000))
        #expect(before(Self.timed(timing)) { $0.device?.timeZone = "Asia/Tokyo" } == nil)
        let gone = before(Self.timed(timing)) { $0.device = nil }
        #expect(gone == DeliveryDecision(state: .suppressed, reason: "sessionEnded"))
    }
}
