import Foundation
import GatehouseInstruments

/// The metrics of a sender, also while push delivery is not configured.
struct PushMetrics: Sendable {
    let isPaused = Gauge(
        "devices_push_paused", help: "1 while no push is sent, because the revocation feed cannot be read.")
    let answer = DurationHistogram(
        "devices_push_answer_seconds", help: "Time from handing a push to the connection pool until Apple's answer.")
    private let outcomes: [TargetState: Counter]
    private let lengths: [TargetState: Gauge]
    private let scheduled = Gauge(
        "devices_push_scheduled",
        help: "Pushes whose time has not come, and large ones whose devices are not all in the queue.")
    private let oldest = Gauge(
        "devices_push_oldest_due_seconds", help: "For how long the oldest push has been due; 0 without any.")
    private let superseded = Counter(
        "devices_push_superseded_total", help: "Outcomes that came after another replica had taken the push over.")

    init() {
        outcomes = Dictionary(
            uniqueKeysWithValues: TargetState.allCases.filter { $0 != .claimed }.map {
                let help = "Devices to which a push was sent, or not: by the state that followed."
                return ($0, Counter("devices_push_outcomes_total", help: help, labels: [("state", $0.rawValue)]))
            })
        lengths = Dictionary(
            uniqueKeysWithValues: TargetState.allCases.filter { !$0.isFinal }.map {
                let help = "Devices to which a push is to be sent, in all replicas' queue, by state."
                return ($0, Gauge("devices_push_queue_length", help: help, labels: [("state", $0.rawValue)]))
            })
    }

    func record(_ outcome: ClaimOutcome, wasRecorded: Bool) {
        (wasRecorded ? outcomes[outcome.decision.state] : superseded)?.increment()
    }

    /// A page of a segment.
    func record(_ progress: SliceProgress, wasRecorded: Bool) {
        guard wasRecorded else { return superseded.increment(by: progress.devices) }
        outcomes[.accepted]?.increment(by: progress.accepted)
        for outcome in progress.outcomes where outcome.decision.state != .accepted {
            outcomes[outcome.decision.state]?.increment()
        }
    }

    func record(_ survey: PushQueueStore.Survey) {
        for (state, gauge) in lengths {
            gauge.set(survey.lengths.reduce(0) { $0 + ($1.state == state ? $1.count : 0) })
        }
        scheduled.set(survey.waiting.values.reduce(0) { $0 + $1.pushes })
        let oldestDueAt = survey.lengths.map(\.oldestDueAt).min()
        oldest.set(oldestDueAt.map { max(0, survey.now.timeIntervalSince($0)) } ?? 0)
    }
}
