import Bytes
import Contracts
import Foundation
import Instruments
import Logging
import NIOCore
import NIOSSL
import ServiceLifecycle

/// The push service APNs: a lane for each key and environment. Runs as a service, which closes the connections at
/// shutdown. Services that send must be listed after it, so that they stop before.
struct APNsLanes: Lane, Service {
    private let lanes: [APNsLane]

    /// Connects to nothing before the first push.
    ///
    /// - Parameters:
    ///   - keys: of several that fit, one with topics precedes one for all topics; then the first.
    ///   - clock: the time for provider tokens.
    /// - Throws: ``APNsConfigurationError`` if the file of certificate authorities is unreadable.
    init(
        keys: [APNsKey], endpoints: APNsEndpoints, limits: APNsLimits = APNsLimits(),
        eventLoopGroup: any EventLoopGroup, logger: Logger, metrics: (any MetricsFactory)? = nil,
        clock: @escaping @Sendable () -> Date = { Date() }
    ) throws(APNsConfigurationError) {
        let isEncrypted = endpoints.production.isEncrypted || endpoints.sandbox.isEncrypted
        let tls: NIOSSLContext?
        do {
            tls = isEncrypted ? try APNsConnection.tls(trustRootsFile: endpoints.trustRootsFile) : nil
        } catch {
            throw APNsConfigurationError(description: "The certificate authorities for APNs are unreadable: \(error)")
        }
        let metrics = APNsMetrics(factory: metrics)
        lanes = keys.flatMap { key in
            let tokens = ProviderTokenSource(key)
            return PushEnvironment.known.filter { key.environments.contains($0) }.map { environment in
                let server = endpoints.server(of: environment)
                return APNsLane(
                    key: key, environment: environment, tokens: tokens, server: server,
                    tls: server.isEncrypted ? tls : nil, limits: limits, eventLoop: eventLoopGroup.next(),
                    metrics: metrics, logger: logger, clock: clock)
            }
        }
    }

    func send(_ push: RenderedPush) async -> LaneOutcome {
        guard let lane = lane(for: push) else { return .notSent(.noKey) }
        return await lane.send(push)
    }

    var maximumStreams: Int { max(1, lanes.reduce(0) { $0 + $1.maximumStreams }) }

    private func lane(for push: RenderedPush) -> APNsLane? {
        guard lanes.count > 1 || lanes.first?.key.topics != nil else {
            return lanes.first.flatMap { $0.environment == push.environment ? $0 : nil }
        }
        let topic = push.type.bundleID(ofTopic: push.topic)
        let fitting = lanes.lazy.filter { $0.environment == push.environment }
        return fitting.first { $0.key.topics?.contains(topic) == true } ?? fitting.first { $0.key.topics == nil }
    }

    func run() async throws {
        // Throws when the task is cancelled, which ends the service, too.
        try? await gracefulShutdown()
        await close()
    }

    /// Sends nothing more, and waits for the pushes in flight.
    func close() async {
        await withDiscardingTaskGroup { group in
            for lane in lanes { group.addTask { await lane.close() } }
        }
    }
}

extension PushType {
    fileprivate func bundleID(ofTopic topic: String) -> String {
        let suffix = topicSuffix.utf8
        return topic.utf8.count > suffix.count && topic.utf8.suffix(suffix.count).elementsEqual(suffix)
            ? String(decoding: topic.utf8.dropLast(suffix.count), as: UTF8.self) : topic
    }
}

// MARK: - Metrics

/// The metrics of all lanes.
struct APNsMetrics: Sendable {
    /// A status and a reason.
    fileprivate struct AnswerLabel: Hashable {
        let status: Int
        let reason: String
    }

    /// Answers in “Handling notification responses from APNs”. Others are counted as `other`.
    private static let reasons: [Int: [String]] = [
        200: [""],
        400: [
            "BadCollapseId", "BadDeviceToken", "BadExpirationDate", "BadMessageId", "BadPriority", "BadTopic",
            "DeviceTokenNotForTopic", "DuplicateHeaders", "IdleTimeout", "InvalidPushType", "MissingDeviceToken",
            "MissingTopic", "PayloadEmpty", "TopicDisallowed",
        ],
        403: [
            "BadCertificate", "BadCertificateEnvironment", "BadEnvironmentKeyIdInToken", "ExpiredProviderToken",
            "Forbidden", "InvalidProviderToken", "MissingProviderToken", "UnrelatedKeyIdInToken",
        ],
        404: ["BadPath"], 405: ["MethodNotAllowed"], 410: ["ExpiredToken", "Unregistered"], 413: ["PayloadTooLarge"],
        429: ["TooManyProviderTokenUpdates", "TooManyRequests"], 500: ["InternalServerError"],
        503: ["ServiceUnavailable", "Shutdown"],
    ]

    fileprivate let answers: [AnswerLabel: Counter]
    fileprivate let accepted: Counter
    fileprivate let otherAnswers: Counter
    fileprivate let notSent: [NotSentReason: Counter]
    fileprivate let inDoubt: Counter
    fileprivate let duration: DurationHistogram
    private let connections: GaugeFamily
    private let streams: GaugeFamily
    private let stopped: GaugeFamily

    fileprivate init(factory: (any MetricsFactory)?) {
        func answer(_ status: String, _ reason: String) -> Counter {
            Counter(
                "devices_apns_answers_total", help: "Answers of APNs, by status and reason.",
                labels: [("status", status), ("reason", reason)], factory: factory)
        }
        var answers: [AnswerLabel: Counter] = [:]
        for (status, reasons) in Self.reasons {
            for reason in reasons {
                answers[AnswerLabel(status: status, reason: reason)] = answer("\(status)", reason)
            }
        }
        self.answers = answers
        otherAnswers = answer("other", "other")
        accepted = answers[AnswerLabel(status: 200, reason: "")] ?? otherAnswers
        notSent = Dictionary(
            uniqueKeysWithValues: NotSentReason.allCases.map { reason in
                let counter = Counter(
                    "devices_apns_not_sent_total", help: "Pushes that were not handed over to APNs.",
                    labels: [("reason", reason.rawValue)], factory: factory)
                return (reason, counter)
            })
        inDoubt = Counter(
            "devices_apns_in_doubt_total", help: "Pushes that APNs may have accepted, but has not answered.",
            factory: factory)
        duration = DurationHistogram(
            "devices_apns_request_seconds", help: "Time from a request to APNs until its answer.", factory: factory)
        let lane = ["team", "key", "environment"]
        connections = GaugeFamily(
            "devices_apns_connections", help: "Open connections to APNs.", labels: lane, factory: factory)
        streams = GaugeFamily(
            "devices_apns_streams", help: "Requests to APNs without answer.", labels: lane, factory: factory)
        stopped = GaugeFamily(
            "devices_apns_lane_stopped", help: "1 while a lane sends nothing, because APNs refuses its key or tokens.",
            labels: lane + ["reason"], factory: factory)
    }

    func lane(team: String, key: String, environment: PushEnvironment) -> APNsLaneMetrics {
        let environment = environment.rawValue
        return APNsLaneMetrics(
            connections: connections.gauge(team, key, environment), streams: streams.gauge(team, key, environment),
            common: self, makeStopped: { [stopped] in stopped.gauge(team, key, environment, $0) })
    }
}

/// The metrics of one lane. Used on its event loop only.
final class APNsLaneMetrics {
    let connections: Gauge
    let streams: Gauge
    private let common: APNsMetrics
    private let makeStopped: (String) -> Gauge
    private var stopped: Gauge?

    fileprivate init(
        connections: Gauge, streams: Gauge, common: APNsMetrics, makeStopped: @escaping (String) -> Gauge
    ) {
        self.connections = connections
        self.streams = streams
        self.common = common
        self.makeStopped = makeStopped
        connections.set(0)
        streams.set(0)
    }

    func answered(_ answer: APNsAnswer, in duration: Duration) {
        common.duration.record(duration)
        if answer.status == 200 { return common.accepted.increment() }
        let label = APNsMetrics.AnswerLabel(status: answer.status, reason: answer.reason ?? "")
        (common.answers[label] ?? common.otherAnswers).increment()
    }

    func finished(_ outcome: LaneOutcome) {
        switch outcome {
        case .answered: break
        case .notSent(let reason): common.notSent[reason]?.increment()
        case .inDoubt: common.inDoubt.increment()
        }
    }

    /// - Parameter reason: one of ``APNsAnswerRules``, so their number is bounded.
    func stopped(for reason: String) {
        resumed()
        stopped = makeStopped(reason)
        stopped?.set(1)
    }

    func resumed() {
        stopped?.remove()
        stopped = nil
    }
}
