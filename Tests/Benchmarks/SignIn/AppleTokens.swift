import AsyncHTTPClient
import Foundation
import GatehouseServiceContracts
import NIOCore
import NIOHTTP1

/// Identity tokens of the simulator's, of many users, made before they are needed.
struct AppleTokens {
    /// The simulator's address.
    let origin: String
    let http: HTTPClient

    private struct SignIn: Encodable {
        var sub: String
        var expiresIn = 3600
    }

    private struct Answer: Decodable {
        var identityToken: String
    }

    /// One for each of `count` users picked at random.
    func make(_ count: Int, users: Int) async throws -> [String] {
        try await withThrowingTaskGroup(of: String.self) { group in
            var tokens: [String] = []
            for index in 0..<count {
                if index >= 16, let token = try await group.next() { tokens.append(token) }
                let subject = UserTable.subject(Int.random(in: 1...users))
                group.addTask { try await one(subject) }
            }
            for try await token in group { tokens.append(token) }
            return tokens
        }
    }

    private func one(_ subject: String) async throws -> String {
        var request = HTTPClientRequest(url: origin + "/simulator/sign-in")
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(ByteBuffer(bytes: try JSON.encode(SignIn(sub: subject))))
        let response = try await http.execute(request, timeout: .seconds(10))
        let body = try await response.body.collect(upTo: 1 << 16)
        guard response.status == .ok else { throw BenchmarkError("the simulator answered \(response.status.code)") }
        return try JSON.decode(Answer.self, from: Data(body.readableBytesView)).identityToken
    }
}
