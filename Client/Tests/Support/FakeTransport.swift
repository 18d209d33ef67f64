import Foundation
import GatehouseClient
import GatehouseContracts

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Answers requests one after the other by a script, and remembers them.
actor FakeTransport: GatehouseTransport {
    struct Reply: Sendable {
        var status = 200
        var headers: [String: String] = [:]
        var body = Data()
        var failure: URLError.Code?
        /// Who has answered, where a redirection led elsewhere.
        var url: URL?

        static func status(_ status: Int, _ headers: [String: String] = [:]) -> Self {
            Self(status: status, headers: headers)
        }

        static func json(_ value: some Encodable, status: Int = 200) -> Self {
            let body = (try? ClientJSON.encode(value)) ?? Data("the value cannot be encoded".utf8)
            return Self(status: status, headers: ["Content-Type": "application/json"], body: body)
        }

        /// As the gateway refuses a bearer (RFC 6750 §3).
        static var refusedBearer: Self {
            status(401, ["WWW-Authenticate": #"Bearer realm="gatehouse", error="invalid_token""#])
        }

        static func problem(_ code: ErrorCode, headers: [String: String] = [:]) -> Self {
            var reply = json(ProblemDocument(Problem(code), requestID: "the-request"), status: code.status)
            reply.headers = headers.merging(["Content-Type": "application/problem+json"]) { mine, _ in mine }
            return reply
        }

        static func text(_ text: String, mediaType: String = "text/plain") -> Self {
            Self(headers: ["Content-Type": mediaType], body: Data(text.utf8))
        }

        static func failure(_ code: URLError.Code) -> Self { Self(failure: code) }
    }

    /// The script is shorter than what happened.
    struct NothingLeft: Error {}

    private var script: [Reply]
    /// In the order in which they came.
    private(set) var requests: [URLRequest] = []

    init(_ script: Reply...) { self.script = script }

    func then(_ replies: Reply...) { script += replies }

    func then(_ replies: [Reply]) { script += replies }

    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        requests.append(request)
        guard !script.isEmpty else { throw NothingLeft() }
        let reply = script.removeFirst()
        if let code = reply.failure { throw URLError(code) }
        guard let url = reply.url ?? request.url,
            let response = HTTPURLResponse(
                url: url, statusCode: reply.status, httpVersion: "HTTP/1.1", headerFields: reply.headers)
        else { throw URLError(.badURL) }
        return (reply.body, response)
    }
}

extension URLRequest {
    /// `POST /v1/auth/login`
    var line: String { "\(httpMethod ?? "GET") \(url?.path ?? "")" }
    var bearer: String? { value(forHTTPHeaderField: "Authorization") }
    var json: String? { httpBody.map { String(decoding: $0, as: UTF8.self) } }
}
