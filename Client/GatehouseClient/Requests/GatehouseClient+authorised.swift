import Contracts
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension GatehouseClient {
    /// Sends `request` in the user's name. A bearer that is refused is renewed, unless somebody has renewed it since, and
    /// the request sent once more: a response of 401 says that nothing has been done yet.
    ///
    /// - Parameters:
    ///   - isRepeatable: as in ``GatehouseConfiguration/exchange(_:isRepeatable:)``.
    ///   - send: one attempt.
    /// - Returns: the last response, whatever its status.
    func authorised(
        _ request: URLRequest, isRepeatable: Bool? = nil,
        send: (URLRequest) async throws -> (Data, HTTPURLResponse)
    ) async throws(GatehouseError) -> Exchange {
        let token = try await bearer(for: request)
        // A stream is read once.
        let isStreamed = request.httpBodyStream != nil
        let isRepeatable = isRepeatable ?? RetryPolicy.isRepeatable(method: request.httpMethod ?? "GET")
        let first = try await configuration.exchange(to: request.url, isRepeatable: isRepeatable && !isStreamed) {
            try await send(request.carrying(token))
        }
        guard refusesBearer(first.response, first.body), !isStreamed else { return first }
        let renewed = try await session.accessToken(after: token)
        configuration.telemetry.record(TelemetryEvent(.replay))
        return try await configuration.exchange(to: request.url, isRepeatable: isRepeatable) {
            try await send(request.carrying(renewed))
        }
    }

    /// Whether a response refuses the bearer, so that a new one may help.
    ///
    /// A 401 whose problem says otherwise, such as a wrong password, does not. Nor does one that says nothing of bearers:
    /// a service may have reasons of its own. Nor one of a server that was shown none, to which a redirect has led.
    private func refusesBearer(_ response: HTTPURLResponse, _ body: Data) -> Bool {
        guard response.statusCode == 401, let url = response.url,
            bearerScope.covers(url)
        else { return false }
        if let code = ProblemBody(response: response, body: body).code.flatMap(ErrorCode.init(rawValue:)) {
            return code == .invalidToken || code == .tokenExpired
        }
        return response.value(forHTTPHeaderField: "WWW-Authenticate").map(BearerChallenge.isPresent(in:)) ?? false
    }

    /// What an app is told of a response that refuses. Whoever is signed in is not asked to sign in because a service
    /// answers 401 for reasons of its own.
    func refusal(_ response: HTTPURLResponse, _ body: Data) -> GatehouseError {
        let error = GatehouseError(response: response, body: body)
        guard error.kind == .signedOut, !refusesBearer(response, body) else { return error }
        return GatehouseError(
            .forbidden, code: error.code, requestID: error.requestID, fields: error.fields,
            retryAfter: error.retryAfter, reason: error.reason, status: error.status, body: error.body)
    }

    /// The bearer, if the request goes where it may be shown.
    ///
    /// - Throws: ``GatehouseError/Kind/misuse`` where it does not; ``GatehouseError/Kind/offline`` without a network, so
    ///   that nobody waits for a refresh that cannot be.
    func bearer(for request: URLRequest) async throws(GatehouseError) -> AccessToken {
        guard let url = request.url, bearerScope.covers(url) else {
            throw GatehouseError(.misuse, reason: "no bearer for \(request.url?.host ?? "an address without a host")")
        }
        guard configuration.connectivity.isOnline(for: url) else { throw GatehouseError(.offline) }
        return try await session.accessToken()
    }
}
