import GatehouseContracts
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A response of any status, with the data that a session derives from it.
struct CompletedExchange: Sendable {
    var body: Data
    var response: HTTPURLResponse
    /// The start of the answered attempt, by the monotonic clock.
    var sentAt: Duration

    /// The server's clock, to the second.
    var serverDate: Date? { response.value(forHTTPHeaderField: "Date").flatMap(HTTPDate.read) }

    var requestID: String? { response.requestID }
}

extension HTTPURLResponse {
    /// The id of the request, which every response of a gateway carries.
    var requestID: String? { value(forHTTPHeaderField: "X-Request-Id") }
}

extension API {
    /// Sends a request and retries it as the policy allows. Fails at once without a network.
    ///
    /// - Parameters:
    ///   - isIdempotent: whether the request is idempotent.
    ///   - deadline: the end of the call's budget. A retry after it is not waited for.
    ///   - unanswered: called after each attempt on which the server may have acted without the client knowing.
    ///   - send: one attempt.
    func exchange(
        to url: URL?, isIdempotent: Bool, by deadline: Duration?, unanswered: () -> Void = {},
        _ send: @escaping @Sendable () async throws -> (Data, HTTPURLResponse)
    ) async throws(GatehouseError) -> CompletedExchange {
        let (policy, clock) = (configuration.retries, configuration.clock)
        var attempt = 0
        while true {
            attempt += 1
            guard configuration.connectivity.isOnline(for: url ?? configuration.baseURL) else {
                throw GatehouseError(.offline)
            }
            let limit = policy.limit(
                ofAttempt: attempt, isIdempotent: isIdempotent, left: deadline.map { $0 - clock.monotonic })
            let (result, outcome) = await sendOnce { try await limit == nil ? send() : self.withinAttemptLimit(send) }
            if outcome.isUnanswered { unanswered() }
            let decision = policy.decision(
                after: attempt, isIdempotent: isIdempotent, outcome: outcome, random: configuration.random(),
                left: deadline.map { $0 - clock.monotonic })
            guard case .pause(let pause) = decision else { return try result.get() }
            do { try await clock.sleep(for: pause) } catch { throw GatehouseError.of(error) }
        }
    }

    /// Makes one attempt, and cancels it when its time is up. The cancelled attempt is awaited, so that a client never
    /// has two attempts of a call in progress.
    ///
    /// - Throws: `URLError.timedOut` if the time was up.
    private func withinAttemptLimit(
        _ send: @escaping @Sendable () async throws -> (Data, HTTPURLResponse)
    ) async throws -> (Data, HTTPURLResponse) {
        let attempt = Task { try await send() }
        let isExpired = Locked(false)
        let number = attempts.begin {
            isExpired.withLock { $0 = true }
            attempt.cancel()
        }
        defer { attempts.end(number) }
        do {
            return try await withTaskCancellationHandler {
                try await attempt.value
            } onCancel: {
                attempt.cancel()
            }
        } catch {
            throw isExpired.withLock { $0 } ? URLError(.timedOut) : error
        }
    }

    private func sendOnce(
        _ send: () async throws -> (Data, HTTPURLResponse)
    ) async -> (Result<CompletedExchange, GatehouseError>, GatehouseRetryPolicy.Outcome) {
        let sentAt = configuration.clock.monotonic
        do {
            let (body, response) = try await send()
            // Only error responses carry `Retry-After`; Foundation's lookup scans all fields, so skip it for a success.
            let asked = response.statusCode < 400 ? nil : response.retryAfter
            let outcome = GatehouseRetryPolicy.Outcome.answered(status: response.statusCode, retryAfter: asked)
            return (.success(CompletedExchange(body: body, response: response, sentAt: sentAt)), outcome)
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
    private let budgets: Deadlines
    private let attempts: Deadlines

    init(configuration: GatehouseConfiguration) {
        self.configuration = configuration
        budgets = Deadlines(limit: configuration.retries.budget, clock: configuration.clock)
        attempts = Deadlines(limit: configuration.retries.attemptLimit, clock: configuration.clock)
    }

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

    /// Makes a call without a bearer.
    ///
    /// - Parameter isIdempotent: whether the request is idempotent; by default HTTP's rule for the method (RFC 9110
    ///   §9.2.2).
    func call<Body: Decodable & Sendable>(
        _ method: String, _ path: String, json: (any Encodable & Sendable)? = nil, isIdempotent: Bool? = nil,
        returning: Body.Type = Body.self
    ) async throws(GatehouseError) -> Answer<Body> {
        try await withinBudget { deadline throws(GatehouseError) in
            try await self.send(method, path, json: json, isIdempotent: isIdempotent, by: deadline)
        }
    }

    /// - Parameters:
    ///   - deadline: the end of the call's budget: ``withinBudget(_:)``.
    ///   - unanswered: as in ``exchange(to:isIdempotent:by:unanswered:_:)``.
    func send<Body: Decodable & Sendable>(
        _ method: String, _ path: String, json: (any Encodable & Sendable)?, bearer: GatehouseAccessToken? = nil,
        isIdempotent: Bool?, by deadline: Duration, unanswered: () -> Void = {}
    ) async throws(GatehouseError) -> Answer<Body> {
        guard let url = configuration.url(forPath: path) else {
            throw GatehouseError(.misuse, reason: "a path begins with / and is percent-encoded")
        }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        if let bearer { request = request.carrying(bearer) }
        if let json {
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            do { request.httpBody = try ClientJSON.encode(json) } catch {
                // Drop the encoding error: its text may hold the request's values.
                throw GatehouseError(.misuse, reason: "\(type(of: json)) cannot be written as JSON")
            }
        }
        let (transport, final) = (configuration.transport, request)
        let exchange = try await exchange(
            to: final.url, isIdempotent: isIdempotent ?? GatehouseRetryPolicy.isIdempotent(method: method),
            by: deadline, unanswered: unanswered
        ) {
            try await transport.send(final)
        }
        // None of these routes answers in HTML.
        guard (200..<300).contains(exchange.response.statusCode), !exchange.response.isCaptivePortal else {
            throw GatehouseError(response: exchange.response, body: exchange.body)
        }
        return Answer(
            body: try Self.read(Body.self, from: exchange), sentAt: exchange.sentAt, serverDate: exchange.serverDate)
    }

    private static func read<Body: Decodable>(
        _ type: Body.Type, from exchange: CompletedExchange
    ) throws(GatehouseError) -> Body {
        if let nothing = Nothing() as? Body { return nothing }
        do {
            return try ClientJSON.decode(Body.self, from: exchange.body)
        } catch {
            throw GatehouseError.unreadable(exchange, as: Body.self)
        }
    }
}

extension API {
    /// Makes a whole call within the policy's budget: its attempts, the pauses between them and a refresh.
    ///
    /// When the time is up, the call fails with `timedOut` at once, and `body` is cancelled but not awaited. A refresh
    /// continues, because other calls need it. If the caller is cancelled, `body` is cancelled and awaited.
    ///
    /// - Parameter body: gets the end of the budget, by the monotonic clock.
    func withinBudget<Value: Sendable>(
        _ body: @escaping @Sendable (_ deadline: Duration) async throws(GatehouseError) -> Value
    ) async throws(GatehouseError) -> Value {
        let deadline = configuration.clock.monotonic + configuration.retries.budget
        let call = BudgetedCall<Value>()
        let number = budgets.begin { call.expire() }
        defer { budgets.end(number) }
        return try await withTaskCancellationHandler {
            await call.result { () throws(GatehouseError) in try await body(deadline) }
        } onCancel: {
            call.cancel()
        }.get()
    }
}

/// A call that ends with the result of its work or when its time is up, whichever comes first.
private final class BudgetedCall<Value: Sendable>: Sendable {
    private struct State {
        var work: Task<Void, Never>?
        var isCancelled = false
        var result: Result<Value, GatehouseError>?
        var caller: CheckedContinuation<Result<Value, GatehouseError>, Never>?
    }

    private let state = Locked(State())

    func result(
        of work: @escaping @Sendable () async throws(GatehouseError) -> Value
    ) async -> Result<Value, GatehouseError> {
        await withCheckedContinuation { continuation in
            let task = Task { self.end(with: await Self.result(of: work)) }
            let (isCancelled, result) = state.withLock { state in
                state.work = task
                if state.result == nil { state.caller = continuation }
                return (state.isCancelled, state.result)
            }
            if isCancelled { task.cancel() }
            if let result { continuation.resume(returning: result) }
        }
    }

    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.work
        }
        task?.cancel()
    }

    func expire() {
        end(with: .failure(GatehouseError(.timedOut, reason: "the call's budget is used up")))
        cancel()
    }

    private func end(with result: Result<Value, GatehouseError>) {
        let caller = state.withLock { state in
            guard state.result == nil else { return nil as CheckedContinuation<Result<Value, GatehouseError>, Never>? }
            state.result = result
            return state.caller
        }
        caller?.resume(returning: result)
    }

    private static func result(
        of work: () async throws(GatehouseError) -> Value
    ) async -> Result<Value, GatehouseError> {
        do throws(GatehouseError) { return .success(try await work()) } catch { return .failure(error) }
    }
}
