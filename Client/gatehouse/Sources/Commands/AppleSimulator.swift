import Foundation
import GatehouseClient
import GatehouseServiceContracts

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The development simulator of Apple. It signs in every caller.
struct AppleSimulator: Sendable {
    var address: URL
    var transport: any GatehouseTransport

    struct SignIn: Decodable, Sendable {
        var identityToken: String
        var authorizationCode: String
    }

    private struct SignInRequest: Encodable {
        var sub: String?
        var email: String?
        var nonce: String
    }

    /// - Parameter email: the same address always means the same Apple user; without one, a new user signs in.
    func signIn(email: String?, nonce: AppleNonce) async throws -> SignIn {
        var request = URLRequest(url: address.appendingPathComponent("simulator/sign-in"))
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try JSON.encode(
            SignInRequest(sub: email.map { "simulated-\($0)" }, email: email, nonce: nonce.value))
        let answer: (body: Data, response: HTTPURLResponse)
        do { answer = try await transport.send(request) } catch {
            throw CommandFailure(
                .unavailable, "The simulator at \(address.absoluteString) cannot be reached.", code: "unavailable")
        }
        guard answer.response.statusCode == 200, let signIn = try? JSON.decode(SignIn.self, from: answer.body) else {
            throw CommandFailure(
                .serverFailed, "\(address.absoluteString) is not a simulator of Sign in with Apple.", code: "server")
        }
        return signIn
    }
}
