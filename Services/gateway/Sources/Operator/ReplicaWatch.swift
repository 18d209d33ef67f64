import AsyncHTTPClient
import Foundation
import NIOCore
import ServiceKit

/// Asks the replicas of Gatehouse's services how they are, for as long as somebody looks at the operator's page: no
/// page, no requests.
actor ReplicaWatch {
    typealias Answer = (status: Int, body: Data)
    typealias Ask = @Sendable (_ address: String) async -> Answer?

    /// Replicas that are asked at the most, all at once.
    static let most = 64
    /// An answer is good for so long, however many pages are open.
    private static let lifetime = Duration.seconds(2)
    private static let patience = Duration.seconds(1)
    /// Bytes of an answer at most.
    private static let mostBytes = 4096

    private let replicas: @Sendable () -> [(service: String, address: String)]
    private let ask: Ask
    private var known: [String: ReplicaStatus] = [:]
    private var lookedAt: ContinuousClock.Instant?
    private var looking: Task<[ReplicaStatus], Never>?
    private var present: [ReplicaStatus] = []
    /// How many were not asked at the last look.
    private(set) var notAsked = 0

    /// - Parameters:
    ///   - replicas: those that there are now.
    ///   - ask: sends one a request for `/readyz`; `nil`: there was no answer.
    init(replicas: @escaping @Sendable () -> [(service: String, address: String)], ask: @escaping Ask) {
        self.replicas = replicas
        self.ask = ask
    }

    init(of gateway: Gateway, client: HTTPClient) {
        self.init(
            replicas: { [gateway] in gateway.routes.table.replicas(gateway.names.addresses) },
            ask: { address in
                let request = HTTPClientRequest(url: "http://\(address)/readyz")
                let answer = try? await client.exchange(
                    request, upTo: Self.mostBytes, before: .after(Self.patience))
                return answer.map { ($0.status, Data($0.body.readableBytesView)) }
            })
    }

    /// How the replicas are, at most two seconds ago.
    func look() async -> [ReplicaStatus] {
        if let lookedAt, lookedAt.duration(to: .now) < Self.lifetime { return present }
        if let looking { return await looking.value }
        let task = Task { await askAll() }
        looking = task
        present = await task.value
        looking = nil
        lookedAt = .now
        return present
    }

    private func askAll() async -> [ReplicaStatus] {
        let all = replicas()
        let asked = all.prefix(Self.most)
        notAsked = all.count - asked.count
        let before = asked.map { service, address in
            known["\(service) \(address)"] ?? ReplicaStatus(service: service, address: address)
        }
        var statuses = await Self.ask(before, by: ask)
        statuses.sort { ($0.service, $0.address) < ($1.service, $1.address) }
        // What is gone is forgotten.
        known = Dictionary(uniqueKeysWithValues: statuses.map { ("\($0.service) \($0.address)", $0) })
        return statuses
    }

    private nonisolated static func ask(_ replicas: [ReplicaStatus], by ask: @escaping Ask) async -> [ReplicaStatus] {
        await withTaskGroup(of: ReplicaStatus.self) { group in
            for replica in replicas {
                group.addTask {
                    let start = ContinuousClock.now
                    let answer = await ask(replica.address)
                    return replica.after(answer, at: .now, milliseconds: start.duration(to: .now) / .milliseconds(1))
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }
}

extension RouteTable {
    /// The addresses of Gatehouse's services, with their names looked up.
    fileprivate func replicas(_ names: [String: [SocketAddress]]) -> [(service: String, address: String)] {
        var replicas: Set<[String]> = []
        for route in routes {
            guard case .upstream(let upstream) = route.target, upstream.isGatehouse else { continue }
            for address in upstream.addresses {
                // A name that is not known stands there itself: that it cannot be reached is what there is to see.
                let resolved = address.resolved(by: names).map(\.authority)
                for authority in resolved.isEmpty ? [address.authority] : resolved {
                    replicas.insert([upstream.name, authority])
                }
            }
        }
        return replicas.map { ($0[0], $0[1]) }.sorted { $0 < $1 }
    }
}
