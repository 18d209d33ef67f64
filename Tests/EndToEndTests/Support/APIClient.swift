import AsyncHTTPClient
import Contracts
import Foundation
import NIOCore
import NIOHTTP1

/// A client of one base address that never follows a redirect and never retries.
struct APIClient: Sendable {
    let baseURL: String

    /// Enough connections that no test waits for another's.
    private static let http: HTTPClient = {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 512
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// Sends a JSON value, or nothing.
    func call(
        _ method: String, _ path: String, bearer: String? = nil, json: (any Encodable & Sendable)? = nil
    ) async throws -> APIAnswer {
        var headers: [(String, String)] = []
        var body: Data?
        if let json {
            headers.append(("Content-Type", "application/json"))
            body = try JSON.encode(json)
        }
        return try await call(method, path, bearer: bearer, headers: headers, body: body)
    }

    /// Sends bytes as they are.
    func call(
        _ method: String, _ path: String, bearer: String? = nil, headers: [(String, String)] = [], body: Data?
    ) async throws -> APIAnswer {
        var request = HTTPClientRequest(url: baseURL + path)
        request.method = .init(rawValue: method)
        if let bearer { request.headers.add(name: "Authorization", value: "Bearer \(bearer)") }
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body { request.body = .stream(Self.pieces(of: body), length: .known(Int64(body.count))) }
        let response = try await Self.http.execute(request, timeout: .seconds(20))
        let answerBody = try await response.body.collect(upTo: 1 << 20)
        return APIAnswer(
            status: Int(response.status.code), headers: response.headers.map { ($0.name.lowercased(), $0.value) },
            body: Data(answerBody.readableBytesView))
    }

    /// A body in pieces, so that the client can stop in the middle when the answer comes before it is through.
    private static func pieces(of body: Data) -> AsyncStream<ByteBuffer> {
        var rest = ByteBuffer(bytes: body)
        let (pieces, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
        while rest.readableBytes > 0, let piece = rest.readSlice(length: min(rest.readableBytes, 64 * 1024)) {
            continuation.yield(piece)
        }
        continuation.finish()
        return pieces
    }
}

struct APIAnswer: Sendable {
    var status: Int
    var headers: [(name: String, value: String)]
    var body: Data

    func header(_ name: String) -> String? {
        headers.first { $0.name == name.lowercased() }?.value
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try JSON.decode(type, from: body)
    }

    /// The answer's problem, if it is one in the contract's form.
    var problem: ProblemDocument? {
        guard header("content-type")?.hasPrefix("application/problem+json") == true else { return nil }
        return try? JSON.decode(ProblemDocument.self, from: body)
    }

    var code: String? { problem?.code }

    var text: String { String(decoding: body, as: UTF8.self) }
}
