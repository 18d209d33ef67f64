import Contracts
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

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
