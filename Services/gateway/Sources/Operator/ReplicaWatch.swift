import AsyncHTTPClient
import Foundation
import GatehouseLimits
import GatehouseServiceContracts
import GatehouseServiceKit
import NIOCore

/// Probes the replicas of Gatehouse's services while an operator's page is open. Without an open page it sends no
/// requests.
actor ReplicaWatch {
    typealias Answer = (status: Int, body: Data)
    typealias Probe = @Sendable (_ address: String) async -> Answer?

    /// The maximum number of replicas that are probed, all concurrently.
    static let most = 64
    /// All open pages share a response for this time.
    private static let lifetime = Duration.seconds(2)
    private static let timeout = Duration.seconds(1)
    /// The maximum size of a response in bytes.
    private static let mostBytes = 4096

    private let replicas: @Sendable () -> [(service: String, address: String)]
    private let probe: Probe
    private var known: [String: ReplicaStatus] = [:]
    private var refreshedAt: ContinuousClock.Instant?
    private var refreshing: Task<[ReplicaStatus], Never>?
    private var present: [ReplicaStatus] = []
    /// Replicas that were not probed at the last refresh.
    private(set) var notProbed = 0

    /// - Parameters:
    ///   - replicas: the current replicas.
    ///   - probe: requests `/readyz` of a replica; `nil`: no response.
    init(replicas: @escaping @Sendable () -> [(service: String, address: String)], probe: @escaping Probe) {
        self.replicas = replicas
        self.probe = probe
    }

    init(of gateway: Gateway, client: HTTPClient) {
        self.init(
            replicas: { [gateway] in gateway.routes.table.replicas(gateway.names.addresses) },
            probe: { address in
                let request = HTTPClientRequest(url: "http://\(address)/readyz")
                let answer = try? await client.exchange(
                    request, upTo: Self.mostBytes, before: .after(Self.timeout))
                return answer.map { ($0.status, Data($0.body.readableBytesView)) }
            })
    }

    /// The status of the replicas, at most two seconds old.
    func refresh() async -> [ReplicaStatus] {
        if let refreshedAt, refreshedAt.duration(to: .now) < Self.lifetime { return present }
        if let refreshing { return await refreshing.value }
        let task = Task { await probeAll() }
        refreshing = task
        present = await task.value
        refreshing = nil
        refreshedAt = .now
        return present
    }

    private func probeAll() async -> [ReplicaStatus] {
        let all = replicas()
        let probed = all.prefix(Self.most)
        notProbed = all.count - probed.count
        let before = probed.map { service, address in
            known["\(service) \(address)"] ?? ReplicaStatus(service: service, address: address)
        }
        var statuses = await Self.probe(before, by: probe)
        statuses.sort { ($0.service, $0.address) < ($1.service, $1.address) }
        // Removes replicas that no longer exist.
        known = Dictionary(uniqueKeysWithValues: statuses.map { ("\($0.service) \($0.address)", $0) })
        return statuses
    }

    private nonisolated static func probe(
        _ replicas: [ReplicaStatus], by probe: @escaping Probe
    ) async -> [ReplicaStatus] {
        await withTaskGroup(of: ReplicaStatus.self) { group in
            for replica in replicas {
                group.addTask {
                    let start = ContinuousClock.now
                    let answer = await probe(replica.address)
                    return replica.after(answer, at: .now, milliseconds: start.duration(to: .now) / .milliseconds(1))
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }
}

extension RouteTable {
    /// The addresses of Gatehouse's services, with names resolved.
    fileprivate func replicas(_ names: [String: [SocketAddress]]) -> [(service: String, address: String)] {
        var replicas: Set<[String]> = []
        for route in routes {
            guard case .upstream(let upstream) = route.target, upstream.isGatehouse else { continue }
            for address in upstream.addresses {
                // An unresolved name is listed as it is, so that the page shows it as unreachable.
                let resolved = address.resolved(by: names).map(\.authority)
                for authority in resolved.isEmpty ? [address.authority] : resolved {
                    replicas.insert([upstream.name, authority])
                }
            }
        }
        return replicas.map { ($0[0], $0[1]) }.sorted { $0 < $1 }
    }
}

/// What a replica of one of Gatehouse's services last reported about itself.
struct ReplicaStatus: Encodable, Equatable, Sendable {
    enum State: String, Encodable {
        case ready
        /// The replica reports that it is not ready.
        case notReady
        /// No response, or one that no service of Gatehouse gives.
        case unreachable
    }

    /// identity, tokens or devices.
    var service: String
    var address: String
    var state = State.unreachable
    /// The dependencies that are missing, while the replica is not ready.
    var failing: [String] = []
    /// The version that it reported when it was last ready; `nil`: it was never ready when this gateway probed it.
    var version: String?
    var revision: String?
    var startedAt: Date?
    /// When it was last ready; `nil`: never when this gateway probed it.
    var readyAt: Date?
    /// How long its last response took.
    var milliseconds: Double?

    /// Maximum length of a text that is taken from a response, in UTF-8 bytes.
    private static let longest = 64

    /// The status after another response.
    ///
    /// - Parameters:
    ///   - answer: `nil`: no response.
    ///   - time: when it came.
    func after(_ answer: (status: Int, body: Data)?, at time: Date, milliseconds: Double) -> ReplicaStatus {
        var next = self
        next.failing = []
        next.state = .unreachable
        next.milliseconds = nil
        guard let answer else { return next }
        switch answer.status {
        case 200:
            guard let health = try? StrictJSON.decode(ServiceHealth.self, from: Array(answer.body)) else { return next }
            next.state = .ready
            next.version = health.version.flatMap(Self.bounded)
            next.revision = health.revision.flatMap(Self.bounded)
            next.startedAt = health.startedAt
            next.readyAt = time
        case 503:
            guard let problem = try? StrictJSON.decode(ProblemDocument.self, from: Array(answer.body)) else {
                return next
            }
            next.state = .notReady
            next.failing = (problem.errors ?? []).prefix(8).compactMap { Self.bounded($0.field) }
        default: return next
        }
        next.milliseconds = milliseconds
        return next
    }

    private static func bounded(_ text: String) -> String? { text.utf8.count <= longest ? text : nil }
}
