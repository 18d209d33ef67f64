import AsyncHTTPClient
import Foundation
import GatehouseLimits
import GatehouseObservability
import GatehouseSettings
import NIOCore
import NIOHTTP1

/// Sends spans to a collector by OTLP over HTTP, in JSON.
struct OTLPSender: Sendable {
    /// The timeout of one request: a collector that takes longer is overloaded.
    static let timeout = Duration.seconds(10)
    /// The most bytes of a response, which contains the number of refused spans and the reason.
    static let maximumAnswer = 64 * 1024

    private let httpClient: HTTPClient
    private let url: String
    private let headers: HTTPHeaders
    private let timeout: Duration

    /// - Parameters:
    ///   - endpoint: without `/v1/traces`.
    ///   - headers: fields of each request besides its own.
    init(
        httpClient: HTTPClient, endpoint: URL, headers: [String: String] = [:], timeout: Duration = Self.timeout
    ) {
        self.httpClient = httpClient
        self.timeout = timeout
        var fields = HTTPHeaders(headers.map { ($0.key, $0.value) })
        fields.replaceOrAdd(name: "Content-Type", value: "application/json")
        fields.replaceOrAdd(name: "Accept", value: "application/json")
        self.headers = fields
        url = endpoint.appending(path: "v1/traces").absoluteString
    }

    func send(_ body: [UInt8]) async -> SpanExportOutcome {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers = headers
        request.body = .bytes(ByteBuffer(bytes: body))
        guard
            let answer = try? await httpClient.exchange(
                request, upTo: Self.maximumAnswer, before: .after(timeout))
        else { return .unreachable }
        return Self.outcome(of: answer.status, answer.headers, Array(buffer: answer.body))
    }

    /// The statuses after which OTLP/HTTP allows a retry.
    private static let busy: Set<Int> = [429, 502, 503, 504]

    static func outcome(of status: Int, _ headers: HTTPHeaders, _ body: [UInt8]) -> SpanExportOutcome {
        if (200..<300).contains(status) { return .taken(rejected: rejected(body)) }
        guard busy.contains(status) else { return .refused }
        // The other form of the field, a date, needs synchronized clocks, so it is ignored. The exporter pauses anyway.
        let seconds = headers.first(name: "Retry-After").flatMap { Int64($0) }
        return .busy(retryAfter: seconds.map { .seconds(min(max($0, 0), 3600)) })
    }

    /// The number of spans that the collector refused in an accepted request (`partialSuccess`).
    private static func rejected(_ body: [UInt8]) -> Int {
        struct Answer: Decodable {
            var partialSuccess: Partial?
        }
        struct Partial: Decodable {
            var rejectedSpans: Count?
        }
        return (try? StrictJSON.decode(Answer.self, from: body))?.partialSuccess?.rejectedSpans?.value ?? 0
    }

    /// Proto3 writes a 64-bit integer as a JSON string, and also reads a number.
    private struct Count: Decodable {
        let value: Int

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                value = Int(text) ?? 0
            } else {
                value = try container.decode(Int.self)
            }
        }
    }
}

extension GatehouseTracer {
    /// `nil` if no traces are recorded.
    init?(_ settings: TraceSettings) {
        guard settings.endpoint != nil else { return nil }
        self.init(sampler: TraceSampler(percent: settings.percent), spans: SpanBuffer())
    }
}
