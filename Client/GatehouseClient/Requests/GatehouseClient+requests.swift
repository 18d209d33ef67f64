import GatehouseContracts
public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

// The app's own requests with the user's bearer.
extension GatehouseClient {
    /// Sends a request with the user's bearer and returns the response, whatever its status.
    ///
    /// An expired bearer is refreshed first. If the server refuses the bearer, it is refreshed and the request repeated
    /// once. Temporary failures are retried as ``GatehouseRetryPolicy`` says, within ``GatehouseRetryPolicy/budget``.
    ///
    /// - Parameters:
    ///   - request: to the base URL's origin or one of the configuration's `bearerHosts`.
    ///   - isIdempotent: whether the request is idempotent; by default HTTP's rule for the method.
    /// - Throws: `misuse` for another server; `offline`, `timedOut`, `unavailable` if there was no response;
    ///   `signedOut`, `sessionEnded`, `locked`, `storage` if there is no bearer; `cancelled`.
    public func data(
        for request: URLRequest, isIdempotent: Bool? = nil
    ) async throws(GatehouseError) -> (Data, HTTPURLResponse) {
        let transport = configuration.transport
        let exchange = try await api.withinBudget { deadline throws(GatehouseError) in
            try await self.authorized(request, isIdempotent: isIdempotent, by: deadline) {
                try await transport.send($0)
            }
        }
        return (exchange.body, exchange.response)
    }

    /// Calls an endpoint with the user's bearer and decodes the response. If the service requires recent
    /// authentication, the user is asked: ``setReauthenticationHandler(_:)``.
    ///
    /// - Throws: as ``data(for:isIdempotent:)``, and the server's error if the status is not 2xx. A 401 that does not
    ///   concern the bearer becomes `forbidden`, because the user is signed in.
    public func send<Response: Sendable>(_ endpoint: GatehouseEndpoint<Response>) async throws(GatehouseError)
        -> Response
    {
        let request = try endpoint.request(below: configuration)
        let transport = configuration.transport
        let isIdempotent = endpoint.isIdempotent
        // Each attempt has a budget of its own: the user's answer may take longer.
        let exchange = try await reauthenticating { () throws(GatehouseError) in
            let exchange = try await api.withinBudget { deadline throws(GatehouseError) in
                try await self.authorized(request, isIdempotent: isIdempotent, by: deadline) {
                    try await transport.send($0)
                }
            }
            guard (200..<300).contains(exchange.response.statusCode) else {
                throw refusal(exchange.response, exchange.body)
            }
            return exchange
        }
        do {
            return try endpoint.read(exchange.body)
        } catch {
            throw GatehouseError.unreadable(exchange, as: Response.self)
        }
    }
}

extension GatehouseClient {
    /// Sends `request` with the user's bearer. If the server refuses the bearer, it is refreshed, unless another caller
    /// has done so, and the request is repeated once. Repeating is safe: a response of 401 means that the server has
    /// not acted on the request.
    ///
    /// - Parameters:
    ///   - isIdempotent: whether the request is idempotent; by default HTTP's rule for the method.
    ///   - deadline: the end of the call's budget; `nil` for transfers of files, which have none.
    ///   - send: one attempt.
    /// - Returns: the last response, whatever its status.
    func authorized(
        _ request: URLRequest, isIdempotent: Bool? = nil, by deadline: Duration?,
        send: @escaping @Sendable (URLRequest) async throws -> (Data, HTTPURLResponse)
    ) async throws(GatehouseError) -> CompletedExchange {
        let token = try await bearer(for: request)
        // A body stream can be read only once.
        let isStreamed = request.httpBodyStream != nil
        let isIdempotent = isIdempotent ?? GatehouseRetryPolicy.isIdempotent(method: request.httpMethod ?? "GET")
        let first = try await api.exchange(
            to: request.url, isIdempotent: isIdempotent && !isStreamed, by: deadline
        ) {
            try await send(request.carrying(token))
        }
        guard let server = serverRefusingBearer(first.response, first.body), !isStreamed,
            let renewed = try await renewed(token, refusedBy: server)
        else { return first }
        configuration.telemetry.record(TelemetryEvent(.replay))
        let second = try await api.exchange(to: request.url, isIdempotent: isIdempotent, by: deadline) {
            try await send(request.carrying(renewed))
        }
        if serverRefusingBearer(second.response, second.body) == nil {
            bearerRefusals.withLock { $0.accepted(by: server) }
        }
        return second
    }

    /// Returns another bearer in place of one that a server has refused: the session's, if it has another by now, or a
    /// new one, unless ``BearerRefusals`` excludes that.
    func renewed(
        _ token: GatehouseAccessToken, refusedBy server: Origin
    ) async throws(GatehouseError) -> GatehouseAccessToken? {
        let clock = configuration.clock
        if try await session.accessToken() != token { return try await session.accessToken(after: token) }
        switch bearerRefusals.withLock({ $0.decision(after: token, by: server, at: clock.monotonic) }) {
        case .refresh:
            let renewed = try await session.accessToken(after: token)
            bearerRefusals.withLock { $0.renewed(for: server, at: clock.monotonic) }
            return renewed
        case .keep(let isFirst):
            if isFirst { configuration.telemetry.record(TelemetryEvent(.newBearerRefused, reason: "\(server)")) }
            return nil
        }
    }

    /// Returns the server that refuses the bearer, so that a new one may succeed; `nil` if the response does not refuse
    /// it.
    ///
    /// Three kinds of 401 do not refuse the bearer: one whose problem document names another cause, such as a wrong
    /// password; one without a bearer challenge, which a service may send for its own reasons; and one from a server
    /// that did not receive the bearer, after a redirect.
    private func serverRefusingBearer(_ response: HTTPURLResponse, _ body: Data) -> Origin? {
        guard response.statusCode == 401, let url = response.url, let server = Origin(url), bearerScope.covers(server)
        else { return nil }
        if let code = ProblemBody(response: response, body: body).code.flatMap(ErrorCode.init(rawValue:)) {
            return code == .invalidToken || code == .tokenExpired ? server : nil
        }
        let challenge = response.value(forHTTPHeaderField: "WWW-Authenticate")
        return challenge.map(BearerChallenge.isPresent(in:)) ?? false ? server : nil
    }

    /// Converts an error response for the app. If a service answers 401 for its own reasons, the app must not ask a
    /// signed-in user to sign in.
    func refusal(_ response: HTTPURLResponse, _ body: Data) -> GatehouseError {
        let error = GatehouseError(response: response, body: body)
        guard error.kind == .signedOut, serverRefusingBearer(response, body) == nil else { return error }
        return GatehouseError(
            .forbidden, code: error.code, requestID: error.requestID, fields: error.fields,
            retryAfter: error.retryAfter, reason: error.reason, status: error.status, body: error.body)
    }

    /// Returns the bearer if the request's server may receive it.
    ///
    /// - Throws: ``GatehouseError/Kind/misuse`` if it may not; ``GatehouseError/Kind/offline`` without a network, so
    ///   that callers do not wait for a refresh that cannot succeed.
    func bearer(for request: URLRequest) async throws(GatehouseError) -> GatehouseAccessToken {
        guard let url = request.url, let server = Origin(url), bearerScope.covers(server) else {
            throw GatehouseError(.misuse, reason: "no bearer for \(request.url?.host ?? "an address without a host")")
        }
        guard configuration.connectivity.isOnline(for: url) else { throw GatehouseError(.offline) }
        return try await session.accessToken()
    }
}

// Uploads and downloads with the user's bearer.
extension GatehouseClient {
    /// Sends a file as a request's body with the user's bearer.
    ///
    /// Refreshes and retries like ``data(for:isIdempotent:)``. If the server refuses the bearer, the file is sent once
    /// more.
    public func upload(
        for request: URLRequest, fromFile file: URL, isIdempotent: Bool? = nil
    ) async throws(GatehouseError) -> (Data, HTTPURLResponse) {
        let transport = configuration.transport
        let exchange = try await authorized(request, isIdempotent: isIdempotent, by: nil) {
            try await transport.upload($0, fromFile: file)
        }
        return (exchange.body, exchange.response)
    }

    /// Writes a response's body to a file, which the caller moves or removes. The file exists whatever the status.
    ///
    /// Refreshes and retries like ``data(for:isIdempotent:)``.
    public func download(for request: URLRequest) async throws(GatehouseError) -> (URL, HTTPURLResponse) {
        let transport = configuration.transport
        /// The file of the last attempt.
        let file = Locked<URL?>(nil)
        do throws(GatehouseError) {
            let exchange = try await authorized(request, by: nil) { request in
                Self.remove(file.withLock { $0.take() })
                let (newFile, response) = try await transport.download(request)
                file.withLock { $0 = newFile }
                // The body shows whether a new bearer may help.
                return (response.statusCode == 401 ? try Self.problem(in: newFile) : Data(), response)
            }
            guard let file = file.withLock({ $0 }) else {
                throw GatehouseError(.server, reason: "the download returned no file")
            }
            return (file, exchange.response)
        } catch {
            Self.remove(file.withLock { $0 })
            throw error
        }
    }

    /// Reads an error response, up to the size limit of a problem document.
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
    /// Returns a web socket whose handshake carries the user's bearer. `resume()` opens it.
    ///
    /// An open socket outlives its bearer. To open it again, request a new task. The end of the session does not close
    /// the socket: see ``SessionCompanion``. On Linux, web sockets need a libcurl that was built with them.
    ///
    /// - Parameters:
    ///   - request: `wss://` to a server that may receive the bearer.
    ///   - refused: the task whose handshake the server refused with 401, so that its bearer is refreshed first.
    /// - Throws: as ``data(for:isIdempotent:)``.
    public func webSocketTask(
        for request: URLRequest, after refused: URLSessionWebSocketTask? = nil
    ) async throws(GatehouseError) -> URLSessionWebSocketTask {
        var token = try await bearer(for: request)
        let refusedBearer = refused?.originalRequest?.value(forHTTPHeaderField: "Authorization")
        if refusedBearer == token.credentials, let server = request.url.flatMap(Origin.init) {
            token = try await renewed(token, refusedBy: server) ?? token
        }
        do { return try configuration.transport.webSocketTask(with: request.carrying(token)) } catch {
            throw GatehouseError.of(error)
        }
    }
}

/// The servers that may receive the user's bearer.
struct BearerScope: Sendable {
    private let home: Origin?
    private let hosts: [[UInt8]]

    init(configuration: GatehouseConfiguration) {
        home = Origin(configuration.baseURL)
        hosts = configuration.bearerHosts.map(Origin.folded)
    }

    /// Whether a request to `server` may carry the bearer. It may go to the base URL's own origin, and over https to the
    /// configuration's other hosts, each exactly as written there (`files.example.com`, `files.example.com:8443`).
    func covers(_ server: Origin) -> Bool {
        if server == home { return true }
        return server.isEncrypted
            && hosts.contains { name in
                name == server.host && server.port == 443 || name == server.host + Array(":\(server.port)".utf8)
            }
    }
}

/// The challenges in `WWW-Authenticate` (RFC 9110 §11.6.1).
enum BearerChallenge {
    /// Whether `field` contains a bearer challenge: `Bearer`, or `Basic realm="a, b", Bearer error="invalid_token"`.
    static func isPresent(in field: String) -> Bool {
        elements(of: field).contains { element in
            let words = element.split(maxSplits: 1) { $0 == " " || $0 == "\t" }
            guard let scheme = words.first, scheme.lowercased() == "bearer" else { return false }
            // A parameter named `bearer` belongs to another scheme.
            return words.count == 1 || words[1].drop { $0 == " " || $0 == "\t" }.first != "="
        }
    }

    /// Splits at commas outside quotes.
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
