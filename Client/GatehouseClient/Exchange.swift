import Contracts
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A response, whatever its status, with what a session needs to know of how it came.
struct Exchange: Sendable {
    var body: Data
    var response: HTTPURLResponse
    /// By the monotonic clock, just before the attempt that was answered.
    var sentAt: Duration

    /// The server's clock, to the second.
    var serverDate: Date? { response.value(forHTTPHeaderField: "Date").flatMap(HTTPDate.read) }

    var requestID: String? { response.value(forHTTPHeaderField: "X-Request-Id") }
}

extension GatehouseConfiguration {
    /// Sends a request, again where the policy says so; fails at once where there is no network.
    ///
    /// - Parameter isRepeatable: whether the server does the same for one request as for two of its kind; by default
    ///   what HTTP says of the method.
    func exchange(_ request: URLRequest, isRepeatable: Bool? = nil) async throws(GatehouseError) -> Exchange {
        try await exchange(
            to: request.url, isRepeatable: isRepeatable ?? RetryPolicy.isRepeatable(method: request.httpMethod ?? "GET")
        ) {
            try await transport.send(request)
        }
    }

    func exchange(
        to url: URL?, isRepeatable: Bool, _ send: () async throws -> (Data, HTTPURLResponse)
    ) async throws(GatehouseError) -> Exchange {
        var attempt = 0
        while true {
            attempt += 1
            guard connectivity.isOnline(for: url ?? baseURL) else { throw GatehouseError(.offline) }
            let (result, outcome) = await tried(send)
            let decision = retries.decision(
                after: attempt, isRepeatable: isRepeatable, outcome: outcome, random: Double.random(in: 0..<1))
            guard case .pause(let pause) = decision else { return try result.get() }
            do { try await clock.sleep(for: pause) } catch { throw GatehouseError.of(error) }
        }
    }

    private func tried(
        _ send: () async throws -> (Data, HTTPURLResponse)
    ) async -> (Result<Exchange, GatehouseError>, RetryPolicy.Outcome) {
        let sentAt = clock.monotonic
        do {
            let (body, response) = try await send()
            // No success asks anybody to wait, and Foundation goes through all fields to find one.
            let asked = response.statusCode < 400 ? nil : response.retryAfter
            let outcome = RetryPolicy.Outcome.answered(status: response.statusCode, retryAfter: asked)
            return (.success(Exchange(body: body, response: response, sentAt: sentAt)), outcome)
        } catch {
            // What is no error of the network is not tried again.
            let code = GatehouseError.networkCode(of: error) ?? .unknown
            return (.failure(GatehouseError.of(error)), .failed(code))
        }
    }
}

/// Calls of Gatehouse's own routes: sent, sent again where the policy says so, and read.
struct API: Sendable {
    let configuration: GatehouseConfiguration

    /// Its body may hold tokens: it is not printed.
    struct Answer<Body: Sendable>: Sendable, CustomStringConvertible, CustomReflectable {
        var body: Body
        /// By the monotonic clock, before the request that was answered went out: what the answer promises for a time
        /// is promised from some moment after this.
        var sentAt: Duration
        /// The server's clock, to the second.
        var serverDate: Date?

        var description: String { "Answer<\(Body.self)>" }
        var customMirror: Mirror { Mirror(self, children: ["sentAt": sentAt]) }
    }

    /// For an answer whose body says nothing.
    struct Nothing: Codable, Sendable {}

    /// - Parameters:
    ///   - isRepeatable: whether the server does the same for one request as for two of its kind; by default what
    ///     HTTP says of the method (RFC 9110 §9.2.2).
    func call<Body: Decodable & Sendable>(
        _ method: String, _ path: String, json: (any Encodable & Sendable)? = nil, bearer: AccessToken? = nil,
        isRepeatable: Bool? = nil, returning: Body.Type = Body.self
    ) async throws(GatehouseError) -> Answer<Body> {
        var request = URLRequest(url: configuration.baseURL.appendingPathComponent(path))
        request.httpMethod = method
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        if let bearer { request = request.carrying(bearer) }
        if let json {
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            do { request.httpBody = try JSON.encode(json) } catch {
                // The error's text may hold what was to be written.
                throw GatehouseError(.misuse, reason: "\(type(of: json)) cannot be written as JSON")
            }
        }
        let exchange = try await configuration.exchange(request, isRepeatable: isRepeatable)
        guard (200..<300).contains(exchange.response.statusCode) else {
            throw GatehouseError(response: exchange.response, body: exchange.body)
        }
        return Answer(
            body: try Self.read(Body.self, from: exchange), sentAt: exchange.sentAt, serverDate: exchange.serverDate)
    }

    private static func read<Body: Decodable>(
        _ type: Body.Type, from exchange: Exchange
    ) throws(GatehouseError) -> Body {
        if let nothing = Nothing() as? Body { return nothing }
        do {
            return try JSON.decode(Body.self, from: exchange.body)
        } catch {
            throw GatehouseError.unreadable(exchange, as: Body.self)
        }
    }
}
