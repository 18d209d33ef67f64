import Foundation
import GatehouseBytes
import GatehouseInstruments
import GatehouseServiceContracts
import Logging
import NIOCore
import NIOSSL
import ServiceLifecycle

/// The push service APNs: a connection pool for each key, environment and server. Runs as a service, which closes
/// the connections at shutdown. Services that send must be listed after it, so that they stop before.
struct APNsConnectionPools: PushService, Service {
    private let pools: [APNsConnectionPool]
    /// Whether not every key is for every app.
    private let mustMatchTopics: Bool

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
        let isEncrypted = PushEnvironment.known.contains { environment in
            endpoints.servers(of: environment).contains { $0.server.isEncrypted }
        }
        let tls: NIOSSLContext?
        do {
            tls = isEncrypted ? try APNsConnection.tls(trustRootsFile: endpoints.trustRootsFile) : nil
        } catch {
            throw APNsConfigurationError(description: "The certificate authorities for APNs are unreadable: \(error)")
        }
        let metrics = APNsMetrics(factory: metrics)
        pools = keys.flatMap { key in
            let tokens = ProviderTokenSource(key)
            return PushEnvironment.known.filter { key.environments.contains($0) }.flatMap { environment in
                endpoints.servers(of: environment).map { uses, server in
                    APNsConnectionPool(
                        key: key, environment: environment, uses: uses, tokens: tokens, server: server,
                        tls: server.isEncrypted ? tls : nil,
                        limits: uses == [.channels] ? limits.forChannels : limits,
                        eventLoop: eventLoopGroup.next(), metrics: metrics, logger: logger, clock: clock)
                }
            }
        }
        mustMatchTopics = keys.count > 1 || keys.first?.topics != nil
    }

    func send(_ push: RenderedPush) async -> SendOutcome { await send(.push(push)) }

    /// Sends a request about channels, or a push. Returns within some seconds, whatever the server does.
    func send(_ call: APNsCall) async -> SendOutcome {
        guard let pool = pool(for: call) else { return .notSent(.noKey) }
        return await pool.send(call)
    }

    var maximumStreams: Int {
        max(1, pools.reduce(0) { $0 + ($1.uses == [.channels] ? 0 : $1.maximumStreams) })
    }

    private func pool(for call: APNsCall) -> APNsConnectionPool? {
        let (environment, use) = (call.environment, call.use)
        let fitting = pools.lazy.filter { $0.environment == environment && $0.uses.contains(use) }
        guard mustMatchTopics else { return fitting.first }
        let app = call.bundleID
        return fitting.first { $0.key.topics?.contains(app) == true } ?? fitting.first { $0.key.topics == nil }
    }

    func run() async throws {
        // Throws when the task is cancelled, which ends the service, too.
        try? await gracefulShutdown()
        await close()
    }

    /// Sends nothing more, and waits for the pushes in flight.
    func close() async {
        await withDiscardingTaskGroup { group in
            for pool in pools { group.addTask { await pool.close() } }
        }
    }
}

// MARK: - Metrics

/// The metrics of all connection pools.
struct APNsMetrics: Sendable {
    /// A status and a reason.
    fileprivate struct AnswerLabel: Hashable {
        let status: Int
        let reason: String
    }

    /// Answers in “Handling notification responses from APNs” and “Handling error responses from Apple Push
    /// Notification service”. Others are counted as `other`.
    private static let reasons: [Int: [String]] = [
        200: [""], 201: [""], 204: [""],
        400: [
            "BadCollapseId", "BadDeviceToken", "BadExpirationDate", "BadMessageId", "BadPriority", "BadTopic",
            "DeviceTokenNotForTopic", "DuplicateHeaders", "IdleTimeout", "InvalidPushType", "MissingDeviceToken",
            "MissingTopic", "PayloadEmpty", "TopicDisallowed",
            // Of channels and broadcasts.
            "BadChannelId", "CannotCreateChannelConfig", "ChannelNotRegistered", "FeatureNotEnabled",
            "MissingChannelId", "MissingPushType",
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
        let labels = ["team", "key", "environment", "use"]
        connections = GaugeFamily(
            "devices_apns_connections", help: "Open connections to APNs.", labels: labels, factory: factory)
        streams = GaugeFamily(
            "devices_apns_streams", help: "Requests to APNs without answer.", labels: labels, factory: factory)
        stopped = GaugeFamily(
            "devices_apns_lane_stopped",
            help: "1 while a connection pool sends nothing, because APNs refuses its key or tokens.",
            labels: labels + ["reason"], factory: factory)
    }

    func pool(team: String, key: String, environment: PushEnvironment, use: APNsConnectionPool.Use)
        -> APNsConnectionPoolMetrics
    {
        let (environment, use) = (environment.rawValue, use.rawValue)
        return APNsConnectionPoolMetrics(
            connections: connections.gauge(team, key, environment, use),
            streams: streams.gauge(team, key, environment, use), common: self,
            makeStopped: { [stopped] in stopped.gauge(team, key, environment, use, $0) })
    }
}

/// The metrics of one connection pool. Used on its event loop only.
final class APNsConnectionPoolMetrics {
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

    func finished(_ outcome: SendOutcome) {
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
