import Contracts
public import Foundation

// Endpoints that answer in JSON as Gatehouse itself does: camelCase, times in ISO 8601.
extension Endpoint where Response: Decodable {
    public init(_ method: String, _ path: String, query: [URLQueryItem] = []) {
        self.init(method: method, path: path, query: query, content: nil, read: Self.readJSON)
    }

    public init(_ method: String, _ path: String, query: [URLQueryItem] = [], json: some Encodable & Sendable) {
        self.init(method: method, path: path, query: query, content: .json(json), read: Self.readJSON)
    }

    private static func readJSON(_ data: Data) throws -> Response { try JSON.decode(Response.self, from: data) }
}

// Endpoints whose answer says nothing but that it is done.
extension Endpoint where Response == Void {
    public init(_ method: String, _ path: String, query: [URLQueryItem] = []) {
        self.init(method: method, path: path, query: query, content: nil) { _ in }
    }

    public init(_ method: String, _ path: String, query: [URLQueryItem] = [], json: some Encodable & Sendable) {
        self.init(method: method, path: path, query: query, content: .json(json)) { _ in }
    }
}

// Endpoints whose answer is taken as it is.
extension Endpoint where Response == Data {
    public init(_ method: String, _ path: String, query: [URLQueryItem] = []) {
        self.init(method: method, path: path, query: query, content: nil) { $0 }
    }

    public init(_ method: String, _ path: String, query: [URLQueryItem] = [], json: some Encodable & Sendable) {
        self.init(method: method, path: path, query: query, content: .json(json)) { $0 }
    }
}

extension Endpoint.Content {
    fileprivate static func json(_ value: some Encodable & Sendable) -> Self {
        Self(mediaType: "application/json") { try JSON.encode(value) }
    }
}
