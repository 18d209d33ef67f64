import GatehouseContracts
import Foundation
import Synchronization

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A server in memory with the contract's rules for refresh tokens: the successor of a predecessor is the same as often
/// as it is asked for, an older one is theft.
final class FakeGatehouse: GatehouseTransport {
    /// What becomes of an exchange.
    enum Fault: Sendable {
        case none
        /// The server does what it was asked for, and its answer is lost.
        case answerLost
        /// So often; afterwards answers arrive.
        case answersLost(Int)
        /// Nothing arrives.
        case unreachable
        case status(Int, retryAfter: Int? = nil)
    }

    struct Chain {
        var generation = 0
        var isRevoked = false
        /// The server's time at which the newest access token expires.
        var accessExpiresAt: Date
        var user: GatehouseClient.User
    }

    struct State {
        var chains: [String: Chain] = [:]
        var requests: [String] = []
        var faults: [String: Fault] = [:]
        var lifetime = 3600
        var number = 0
    }

    let state = Mutex(State())
    let clock: ManualClock
    /// Seconds that the server is ahead of the device.
    let offset: TimeInterval
    /// Each request to `gatedPath` waits here until the test lets it go, or the client gives it up.
    let gate: Gate?
    let gatedPath: String

    init(clock: ManualClock, offset: TimeInterval = 0, gate: Gate? = nil, at gatedPath: String = "/v1/auth/refresh") {
        self.clock = clock
        self.offset = offset
        self.gate = gate
        self.gatedPath = gatedPath
        start = (clock.wall, clock.monotonic)
    }

    private let start: (wall: Date, monotonic: Duration)

    /// The server's clock goes on evenly, whatever is done to the device's.
    var now: Date {
        start.wall.addingTimeInterval(offset + (clock.monotonic - start.monotonic) / .seconds(1))
    }

    func fault(_ path: String, _ fault: Fault) { state.withLock { $0.faults[path] = fault } }

    func count(_ path: String) -> Int { state.withLock { $0.requests.filter { $0 == path }.count } }

    func revokeAll() {
        state.withLock { state in for name in state.chains.keys { state.chains[name]?.isRevoked = true } }
    }

    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        let path = request.url?.path ?? ""
        if path == gatedPath, let gate {
            await withTaskCancellationHandler {
                await gate.pass()
            } onCancel: {
                Task { await gate.open() }
            }
        }
        try Task.checkCancellation()
        let fault = state.withLock { state in
            state.requests.append(path)
            guard case .answersLost(let count)? = state.faults[path] else { return state.faults[path] ?? .none }
            state.faults[path] = count > 1 ? .answersLost(count - 1) : nil
            return .answerLost
        }
        switch fault {
        case .unreachable: throw URLError(.cannotConnectToHost)
        case .status(let status, let retryAfter):
            return answer(status, Data(), retryAfter.map { ["Retry-After": "\($0)"] } ?? [:])
        case .answerLost, .answersLost:
            _ = try respond(to: request, path)
            throw URLError(.networkConnectionLost)
        case .none: return try respond(to: request, path)
        }
    }

    private func respond(to request: URLRequest, _ path: String) throws -> (Data, HTTPURLResponse) {
        let body = request.httpBody ?? Data()
        switch path {
        case "/v1/auth/login":
            let login = try ClientJSON.decode(LoginRequest.self, from: body)
            return answer(200, try ClientJSON.encode(signIn(login.identifier)))
        case "/v1/auth/refresh":
            return try refresh(ClientJSON.decode(RefreshRequest.self, from: body).refreshToken)
        case "/v1/auth/logout":
            let token = try ClientJSON.decode(LogoutRequest.self, from: body).refreshToken ?? ""
            state.withLock { $0.chains[Self.name(of: token)]?.isRevoked = true }
            return answer(204, Data())
        case "/v1/auth/account":
            guard let user = user(of: request) else { return problem(.tokenExpired) }
            state.withLock { state in
                for name in state.chains.keys where state.chains[name]?.user.id == user.id {
                    state.chains[name]?.isRevoked = true
                }
            }
            return answer(202, Data())
        default:
            guard let user = user(of: request) else { return problem(.tokenExpired) }
            return answer(200, try ClientJSON.encode(user))
        }
    }

    func signIn(_ identifier: String) -> AuthResponse {
        state.withLock { state in
            state.number += 1
            let name = "session\(state.number)"
            let known = state.chains.values.first { $0.user.email == identifier }?.user
            let user =
                known
                ?? GatehouseClient.User(
                    id: UUID(), email: identifier, role: "customer", authProviders: [.password], createdAt: now)
            state.chains[name] = Chain(accessExpiresAt: now + Double(state.lifetime), user: user)
            return Self.response(name, state.chains[name]!, lifetime: state.lifetime, now: now)
        }
    }

    private func refresh(_ token: String) throws -> (Data, HTTPURLResponse) {
        let (name, now) = (Self.name(of: token), now)
        let response: AuthResponse? = state.withLock { state in
            guard var chain = state.chains[name], !chain.isRevoked,
                let generation = token.split(separator: ".").last.flatMap({ Int($0) })
            else { return nil }
            defer { state.chains[name] = chain }
            switch generation {
            case chain.generation: chain.generation += 1
            case chain.generation - 1: break
            default:
                chain.isRevoked = true
                return nil
            }
            chain.accessExpiresAt = now + Double(state.lifetime)
            return Self.response(name, chain, lifetime: state.lifetime, now: now)
        }
        guard let response else { return problem(.invalidRefreshToken) }
        return answer(200, try ClientJSON.encode(response))
    }

    /// Of a bearer that is genuine and lives.
    private func user(of request: URLRequest) -> GatehouseClient.User? {
        let bearer = (request.value(forHTTPHeaderField: "Authorization") ?? "").dropFirst("Bearer ".count)
        let parts = bearer.split(separator: ".")
        guard parts.count == 3, parts[0] == "access", let expiry = Double(parts[2]) else { return nil }
        guard let chain = state.withLock({ $0.chains[String(parts[1])] }), !chain.isRevoked,
            expiry > now.timeIntervalSince1970.rounded(.down)
        else { return nil }
        return chain.user
    }

    private static func name(of token: String) -> String {
        token.split(separator: ".").dropFirst().first.map(String.init) ?? ""
    }

    private static func response(_ name: String, _ chain: Chain, lifetime: Int, now: Date) -> AuthResponse {
        let expiry = Int(chain.accessExpiresAt.timeIntervalSince1970)
        return AuthResponse(
            accessToken: "access.\(name).\(expiry)", refreshToken: "refresh.\(name).\(chain.generation)",
            expiresIn: lifetime, expiresAt: Date(timeIntervalSince1970: Double(expiry)), refreshExpiresIn: 2_592_000,
            refreshExpiresAt: now + 2_592_000, user: chain.user)
    }

    private func problem(_ code: ErrorCode) -> (Data, HTTPURLResponse) {
        let document = try? ClientJSON.encode(ProblemDocument(Problem(code), requestID: "request"))
        return answer(code.status, document ?? Data(), ["Content-Type": "application/problem+json"])
    }

    private func answer(_ status: Int, _ body: Data, _ fields: [String: String] = [:]) -> (Data, HTTPURLResponse) {
        var fields = fields
        fields["Date"] = Self.httpDate(now)
        let url = URL(string: "https://api.example.com")!
        return (body, HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)!)
    }

    private static func httpDate(_ date: Date) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: date)
    }
}

/// Where tasks wait until a test opens it.
actor Gate {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var arrivals: [CheckedContinuation<Void, Never>] = []
    private var arrived = 0

    func pass() async {
        arrived += 1
        for arrival in arrivals { arrival.resume() }
        arrivals = []
        guard !isOpen else { return }
        await withCheckedContinuation { waiting.append($0) }
    }

    func open() {
        isOpen = true
        for continuation in waiting { continuation.resume() }
        waiting = []
    }

    /// Returns when a caller stands at the gate.
    func untilSomebodyArrives() async {
        guard arrived == 0 else { return }
        await withCheckedContinuation { arrivals.append($0) }
    }
}
