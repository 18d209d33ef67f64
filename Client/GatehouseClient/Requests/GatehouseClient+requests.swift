import Contracts
public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

// Requests of the app's own in the user's name.
extension GatehouseClient {
    /// Sends a request with the user's bearer, and returns the response whatever its status.
    ///
    /// A bearer that has expired is renewed first, one that the server refuses is renewed and the request sent once
    /// more. What met trouble on the way is sent again as ``RetryPolicy`` says.
    ///
    /// - Parameters:
    ///   - request: to the base URL's origin or one of the configuration's `bearerHosts`.
    ///   - isRepeatable: whether the server does the same for one request as for two of its kind; by default what HTTP
    ///     says of the method.
    /// - Throws: `misuse` for another server; `offline`, `timedOut`, `unavailable` where there was no response;
    ///   `signedOut`, `sessionEnded`, `locked`, `storage` where there is no bearer; `cancelled`.
    public func data(
        for request: URLRequest, isRepeatable: Bool? = nil
    ) async throws(GatehouseError) -> (Data, HTTPURLResponse) {
        let transport = configuration.transport
        let exchange = try await authorised(request, isRepeatable: isRepeatable) { try await transport.send($0) }
        return (exchange.body, exchange.response)
    }

    /// Calls an endpoint with the user's bearer, and reads what it answers.
    ///
    /// - Throws: as ``data(for:isRepeatable:)``; and what the server's refusal says where the status is none of 2xx. A 401
    ///   that is not about the bearer is `forbidden`: whoever asks is signed in.
    public func send<Response: Sendable>(_ endpoint: Endpoint<Response>) async throws(GatehouseError) -> Response {
        let request = try endpoint.request(below: configuration.baseURL)
        let transport = configuration.transport
        let exchange = try await authorised(request, isRepeatable: endpoint.isRepeatable) {
            try await transport.send($0)
        }
        guard (200..<300).contains(exchange.response.statusCode) else {
            throw refusal(exchange.response, exchange.body)
        }
        do {
            return try endpoint.read(exchange.body)
        } catch {
            throw GatehouseError.unreadable(exchange, as: Response.self)
        }
    }
}

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

// Files, in the user's name.
extension GatehouseClient {
    /// Sends a file as a request's body, with the user's bearer.
    ///
    /// Renewed and repeated as with ``data(for:isRepeatable:)``: also a file whose bearer is refused is sent once more.
    public func upload(
        for request: URLRequest, fromFile file: URL, isRepeatable: Bool? = nil
    ) async throws(GatehouseError) -> (Data, HTTPURLResponse) {
        let transport = configuration.transport
        let exchange = try await authorised(request, isRepeatable: isRepeatable) {
            try await transport.upload($0, fromFile: file)
        }
        return (exchange.body, exchange.response)
    }

    /// Writes a response's body to a file, which the caller moves or removes. It is there whatever the status.
    ///
    /// Renewed and repeated as with ``data(for:isRepeatable:)``.
    public func download(for request: URLRequest) async throws(GatehouseError) -> (URL, HTTPURLResponse) {
        let transport = configuration.transport
        var file: URL?
        do throws(GatehouseError) {
            let exchange = try await authorised(request) { request in
                Self.remove(file)
                file = nil
                let (newFile, response) = try await transport.download(request)
                file = newFile
                // It says whether a new bearer helps.
                return (response.statusCode == 401 ? try Self.problem(in: newFile) : Data(), response)
            }
            guard let file else { throw GatehouseError(.server, reason: "there is no file") }
            return (file, exchange.response)
        } catch {
            Self.remove(file)
            throw error
        }
    }

    /// As much of a refusal as can be a problem document.
    private static func problem(in file: URL) throws -> Data {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        return try handle.read(upToCount: ProblemBody.maximumBytes + 1) ?? Data()
    }

    private static func remove(_ file: URL?) {
        if let file { try? FileManager.default.removeItem(at: file) }
    }
}

extension GatehouseClient {
    /// A web socket whose handshake carries the user's bearer. It is opened by `resume()`.
    ///
    /// A socket goes on after its bearer has expired; whoever opens one again asks for a new task. A session that ends
    /// does not close it: see ``SessionCompanion``. On Linux web sockets are there where libcurl was built with them.
    ///
    /// - Parameters:
    ///   - request: `wss://` to a server that is shown the bearer.
    ///   - refused: the task whose handshake the server has refused with 401, so that its bearer is renewed first.
    /// - Throws: as ``data(for:isRepeatable:)``.
    public func webSocketTask(
        for request: URLRequest, after refused: URLSessionWebSocketTask? = nil
    ) async throws(GatehouseError) -> URLSessionWebSocketTask {
        var token = try await bearer(for: request)
        let refusedBearer = refused?.originalRequest?.value(forHTTPHeaderField: "Authorization")
        if refusedBearer == token.credentials {
            token = try await session.accessToken(after: token)
        }
        do { return try configuration.transport.webSocketTask(with: request.carrying(token)) } catch {
            throw GatehouseError.of(error)
        }
    }
}

/// Which servers are shown the user's bearer.
struct BearerScope: Sendable {
    private let home: Origin?
    private let hosts: [[UInt8]]

    init(configuration: GatehouseConfiguration) {
        home = Origin(configuration.baseURL)
        hosts = configuration.bearerHosts.map(Origin.folded)
    }

    /// Whether a request to `url` may carry the bearer: to the base URL's own origin, and by https to the other hosts of
    /// the configuration, each exactly as it is written there (`files.example.com`, `files.example.com:8443`).
    func covers(_ url: URL) -> Bool {
        guard let origin = Origin(url) else { return false }
        if origin == home { return true }
        return origin.isEncrypted
            && hosts.contains { name in
                name == origin.host && origin.port == 443 || name == origin.host + Array(":\(origin.port)".utf8)
            }
    }
}

/// What `WWW-Authenticate` asks for (RFC 9110 §11.6.1).
enum BearerChallenge {
    /// Whether a bearer is among it: `Bearer`, or `Basic realm="a, b", Bearer error="invalid_token"`.
    static func isPresent(in field: String) -> Bool {
        elements(of: field).contains { element in
            let words = element.split(maxSplits: 1) { $0 == " " || $0 == "\t" }
            guard let scheme = words.first, scheme.lowercased() == "bearer" else { return false }
            // A parameter of that name belongs to another scheme.
            return words.count == 1 || words[1].drop { $0 == " " || $0 == "\t" }.first != "="
        }
    }

    /// What stands between commas; a comma in quotes is none.
    private static func elements(of field: String) -> [Substring] {
        var (isQuoted, isEscaped) = (false, false)
        return field.split { character in
            if isEscaped {
                isEscaped = false
            } else if isQuoted, character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
            }
            return character == "," && !isQuoted
        }
    }
}
