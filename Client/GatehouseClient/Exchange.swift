import GatehouseContracts
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A response of any status, with the data that a session derives from it.
struct Exchange: Sendable {
    var body: Data
    var response: HTTPURLResponse
    /// The start of the answered attempt, by the monotonic clock.
    var sentAt: Duration

    /// The server's clock, to the second.
    var serverDate: Date? { response.value(forHTTPHeaderField: "Date").flatMap(HTTPDate.read) }

    var requestID: String? { response.value(forHTTPHeaderField: "X-Request-Id") }
}

extension GatehouseConfiguration {
    /// Sends a request and retries it as the policy allows. Fails at once without a network.
    ///
    /// - Parameter isRepeatable: whether the request is idempotent; by default HTTP's rule for the method.
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
            let (result, outcome) = await sendOnce(send)
            let decision = retries.decision(
                after: attempt, isRepeatable: isRepeatable, outcome: outcome, random: Double.random(in: 0..<1))
            guard case .pause(let pause) = decision else { return try result.get() }
            do { try await clock.sleep(for: pause) } catch { throw GatehouseError.of(error) }
        }
    }

    private func sendOnce(
        _ send: () async throws -> (Data, HTTPURLResponse)
    ) async -> (Result<Exchange, GatehouseError>, RetryPolicy.Outcome) {
        let sentAt = clock.monotonic
        do {
            let (body, response) = try await send()
            // Only error responses carry `Retry-After`; Foundation's lookup scans all fields, so skip it for a success.
            let asked = response.statusCode < 400 ? nil : response.retryAfter
            let outcome = RetryPolicy.Outcome.answered(status: response.statusCode, retryAfter: asked)
            return (.success(Exchange(body: body, response: response, sentAt: sentAt)), outcome)
        } catch {
            // Only network errors are retried.
            let code = GatehouseError.networkCode(of: error) ?? .unknown
            return (.failure(GatehouseError.of(error)), .failed(code))
        }
    }
}

/// Calls Gatehouse's own routes: sends, retries and decodes.
struct API: Sendable {
    let configuration: GatehouseConfiguration

    /// A decoded response. Its description omits the body, which may hold tokens.
    struct Answer<Body: Sendable>: Sendable, CustomStringConvertible, CustomReflectable {
        var body: Body
        /// The start of the answered attempt, by the monotonic clock. Lifetimes in the answer count from a moment after
        /// this.
        var sentAt: Duration
        /// The server's clock, to the second.
        var serverDate: Date?

        var description: String { "Answer<\(Body.self)>" }
        var customMirror: Mirror { Mirror(self, children: ["sentAt": sentAt]) }
    }

    /// The body type of answers without content.
    struct Nothing: Codable, Sendable {}

    /// - Parameters:
    ///   - isRepeatable: whether the request is idempotent; by default HTTP's rule for the method (RFC 9110 §9.2.2).
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
                // Drop the encoding error: its text may hold the request's values.
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
