import AsyncHTTPClient
public import Foundation
public import GatehouseServiceContracts
import NIOCore
import NIOHTTP1

/// An HTTP client for tests, without redirects and retries. It reads whole responses, and opens as many connections as
/// there are requests.
public struct TestHTTPClient: Sendable {
    private static let http: HTTPClient = {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 512
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// A complete response.
    public struct Response: Sendable {
        public let status: Int
        public let body: Data
        let headers: HTTPHeaders

        /// The first header field with that name, in any case.
        public func header(_ name: String) -> String? { headers.first(name: name) }

        public var text: String { String(decoding: body, as: UTF8.self) }

        /// Decodes the body as Gatehouse's JSON.
        public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
            try JSON.decode(type, from: body)
        }

        /// Decodes the body as a problem document.
        public func problem() throws -> ProblemDocument {
            try decode(ProblemDocument.self)
        }

        /// The problem's code; nil if the body is not a problem document of the contract.
        public var code: String? {
            guard header("Content-Type") == "application/problem+json" else { return nil }
            return try? problem().code
        }
    }

    /// The connection ended, or the time limit was reached, between the response's head and its end.
    public struct AnswerBrokenOff: Error {
        let underlying: any Error
    }

    private let baseURL: String
    private let timeout: TimeAmount

    /// - Parameter timeout: the time limit of an exchange until the response's head.
    public init(_ baseURL: URL, timeout: Duration = .seconds(60)) {
        let text = baseURL.absoluteString
        self.baseURL = text.hasSuffix("/") ? String(text.dropLast()) : text
        self.timeout = TimeAmount(timeout)
    }

    /// - Throws: ``AnswerBrokenOff``, or AsyncHTTPClient's error if no head has arrived.
    public func send(
        _ method: String, _ path: String, headers: [String: String] = [:], body: Data? = nil
    ) async throws -> Response {
        var request = HTTPClientRequest(url: baseURL + path)
        request.method = HTTPMethod(rawValue: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body {
            // A body that is sent with the head does not wait for a task of a busy process, which could exceed the
            // server's timeout.
            request.body =
                body.count <= Self.pieceSize
                ? .bytes(body) : .stream(Self.pieces(of: body), length: .known(Int64(body.count)))
        }
        let response = try await Self.http.execute(request, timeout: timeout)
        let bytes: ByteBuffer
        do {
            bytes = try await response.body.collect(upTo: 64 << 20)
        } catch {
            throw AnswerBrokenOff(underlying: error)
        }
        return Response(
            status: Int(response.status.code), body: Data(Array(buffer: bytes)), headers: response.headers)
    }

    private static let pieceSize = 64 * 1024

    /// Splits the body, so that the client can stop if the response arrives before the body is sent.
    private static func pieces(of body: Data) -> AsyncStream<ByteBuffer> {
        var rest = ByteBuffer(bytes: body)
        let (pieces, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
        while rest.readableBytes > 0, let piece = rest.readSlice(length: min(rest.readableBytes, pieceSize)) {
            continuation.yield(piece)
        }
        continuation.finish()
        return pieces
    }

    public func get(_ path: String, headers: [String: String] = [:]) async throws -> Response {
        try await send("GET", path, headers: headers)
    }

    public func delete(_ path: String, headers: [String: String] = [:]) async throws -> Response {
        try await send("DELETE", path, headers: headers)
    }

    /// Posts a value as JSON.
    public func post(
        _ path: String, json: some Encodable, headers: [String: String] = [:]
    ) async throws -> Response {
        try await send(
            "POST", path, headers: headers.merging(["Content-Type": "application/json"]) { own, _ in own },
            body: try JSON.encode(json))
    }

    /// Posts text unchanged, as JSON unless the headers say otherwise.
    public func post(
        _ path: String, text: String = "", headers: [String: String] = [:]
    ) async throws -> Response {
        try await send(
            "POST", path,
            headers: text.isEmpty ? headers : headers.merging(["Content-Type": "application/json"]) { own, _ in own },
            body: text.isEmpty ? nil : Data(text.utf8))
    }
}
