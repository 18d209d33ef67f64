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
