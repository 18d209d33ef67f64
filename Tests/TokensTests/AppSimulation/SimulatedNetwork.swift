import Foundation
import GatehouseClient
import GatehouseServiceContracts
import Synchronization
import TestKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What lies between a device and the server: it loses requests and answers.
final class SimulatedNetwork: GatehouseConnectivity {
    /// Of all answers.
    static let lostAnswers = 0.05
    /// Of all requests.
    static let lostRequests = 0.02
    /// Of those that follow one that was lost: a bad network stays bad.
    static let lostAgain = 0.3
    /// Of all refreshes: the process ends as the answer comes, before anything is saved.
    static let killsPerRefresh = 0.01

    struct Count: Sendable {
        var refreshes = 0
        /// Of refreshes that the server had done.
        var lostAnswers = 0
        /// The same, because the process was killed.
        var kills = 0

        static func += (sum: inout Self, more: Self) {
            sum.refreshes += more.refreshes
            sum.lostAnswers += more.lostAnswers
            sum.kills += more.kills
        }
    }

    private struct State {
        var isOnline = true
        var wasLost = false
        var count = Count()
        var random: SeededGenerator
    }

    let server: SimulatedServer
    private let clock: SimulatedClock
    private let state: Mutex<State>

    init(server: SimulatedServer, clock: SimulatedClock, random: SeededGenerator) {
        self.server = server
        self.clock = clock
        state = Mutex(State(random: random))
    }

    var isOnline: Bool { state.withLock { $0.isOnline } }
    var changes: AsyncStream<Bool> { AsyncStream { $0.finish() } }
    var count: Count { state.withLock { $0.count } }

    func set(online: Bool) { state.withLock { $0.isOnline = online } }

    private enum Fate: Sendable {
        case arrives
        case requestLost
        case answerLost
        case killed
    }

    func exchange(_ request: URLRequest, from process: SimulatedProcess) async throws -> (Data, HTTPURLResponse) {
        // Others get their turn between request and answer, as they do on a device.
        await Task.yield()
        guard process.isAlive else { throw URLError(.cancelled) }
        guard isOnline else { throw URLError(.notConnectedToInternet) }
        let path = request.url?.path ?? ""
        let fate = fate(ofRefresh: path == "/v1/auth/refresh")
        if fate == .requestLost { throw URLError(.timedOut) }
        let bearer = request.value(forHTTPHeaderField: "Authorization").map { String($0.dropFirst("Bearer ".count)) }
        let answer = server.answer(path, body: request.httpBody ?? Data(), bearer: bearer)
        await Task.yield()
        if fate == .killed { process.kill() }
        guard fate == .arrives, process.isAlive else { throw URLError(.networkConnectionLost) }
        return try response(answer, to: request)
    }

    private func fate(ofRefresh isRefresh: Bool) -> Fate {
        state.withLock { state in
            func happens(_ probability: Double) -> Bool {
                Double.random(in: 0..<1, using: &state.random) < probability
            }
            if isRefresh { state.count.refreshes += 1 }
            if isRefresh, happens(Self.killsPerRefresh) {
                state.count.kills += 1
                return .killed
            }
            let isLost = happens(state.wasLost ? Self.lostAgain : Self.lostAnswers)
            state.wasLost = isLost
            if isLost {
                if isRefresh { state.count.lostAnswers += 1 }
                return .answerLost
            }
            return happens(Self.lostRequests) ? .requestLost : .arrives
        }
    }

    private func response(
        _ answer: SimulatedServer.Answer, to request: URLRequest
    ) throws -> (Data, HTTPURLResponse) {
        var fields = ["Date": httpDate(Int(clock.seconds))]
        var body = Data()
        if let code = answer.code {
            fields["Content-Type"] = "application/problem+json"
            body = try JSON.encode(ProblemDocument(Problem(code), requestID: "simulated"))
        } else if let value = answer.body {
            body = try JSON.encode(value)
        }
        if let retryAfter = answer.retryAfter { fields["Retry-After"] = "\(retryAfter)" }
        guard let url = request.url,
            let response = HTTPURLResponse(
                url: url, statusCode: answer.status, httpVersion: "HTTP/1.1", headerFields: fields)
        else { throw URLError(.badURL) }
        return (body, response)
    }

    /// RFC 9110 §5.6.7.
    private func httpDate(_ seconds: Int) -> String {
        var time = time_t(SimulatedClock.start.timeIntervalSince1970) + seconds
        var parts = tm()
        gmtime_r(&time, &parts)
        var text = [CChar](repeating: 0, count: 64)
        let length = strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(decoding: text[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// The network as one process of the app sees it.
struct SimulatedTransport: GatehouseTransport {
    let network: SimulatedNetwork
    let process: SimulatedProcess

    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        try await network.exchange(request, from: process)
    }
}
