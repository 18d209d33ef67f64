import Foundation
import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Apple's part as the development simulator plays it: whoever asks is signed in.
struct AppleSimulator: Sendable {
    var address: URL
    var transport: any Transport

    struct SignIn: Decodable, Sendable {
        var identityToken: String
        var authorizationCode: String
    }

    private struct Wish: Encodable {
        var sub: String?
        var email: String?
        var nonce: String
    }

    /// - Parameter email: the same one is the same Apple user each time; without one it is a new user.
    func signIn(email: String?, nonce: AppleNonce) async throws -> SignIn {
        var request = URLRequest(url: address.appendingPathComponent("simulator/sign-in"))
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try JSON.encode(
            Wish(sub: email.map { "simulated-\($0)" }, email: email, nonce: nonce.value))
        let answer: (body: Data, response: HTTPURLResponse)
        do { answer = try await transport.send(request) } catch {
            throw CommandFailure(
                .unavailable, "The simulator at \(address.absoluteString) cannot be reached.", code: "unavailable")
        }
        guard answer.response.statusCode == 200, let signIn = try? JSON.decode(SignIn.self, from: answer.body) else {
            throw CommandFailure(
                .serverFailed, "At \(address.absoluteString) is no simulator of Sign in with Apple.", code: "server")
        }
        return signIn
    }
}
