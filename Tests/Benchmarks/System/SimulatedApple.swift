import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// The simulator that stands in for Apple: signs a person in on a device, as Apple's dialog does.
struct SimulatedApple: Sendable {
    let origin: String
    let http: HTTPClient

    struct SignIn: Decodable, Sendable {
        var identityToken: String
        var authorizationCode: String
    }

    func signIn(_ person: String) async throws -> SignIn {
        var request = HTTPClientRequest(url: origin + "/simulator/sign-in")
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(ByteBuffer(string: #"{"sub": "\#(person)"}"#))
        let response = try await http.execute(request, timeout: .seconds(10))
        let body = try await response.body.collect(upTo: 1 << 16)
        return try JSONDecoder().decode(SignIn.self, from: Data(body.readableBytesView))
    }
}
