import Foundation
import GatehouseAccessTokens
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

@testable import AppleSimulator

/// Apple in the test's process: the simulator, with answers that it would not give and tokens that it would not sign.
final class SimulatedApple: Sendable {
    struct State {
        /// Answers in place of the simulator's, by path, each for one request.
        var answers: [String: [(status: HTTPResponse.Status, text: String)]] = [:]
        /// Runs while identity waits for the exchange of a code.
        var whileExchanging: (@Sendable () async -> Void)?
    }

    /// The keys by name. The first signs, the second takes its place after a rotation.
    private static let keys = Result<[String: SigningKeys.Key], any Error> {
        try ["first", "second", "third"].reduce(into: [:]) { keys, name in
            keys[name] = try SigningKeys.Key(RSAPrivateKey.generate(bits: 2048), identifier: name)
        }
    }

    let state = Mutex(State())
    private let accounts: AppleAccounts
    private let fault = Fault()
    private let log = RequestLog()

    init() throws {
        let clientKey = TestKeys.clientSecret.replacing("# development\n", with: "")
        accounts = AppleAccounts(
            keys: SigningKeys(current: try Self.key("first"), previous: try Self.key("third")),
            clientSecret: try ClientSecret(privateKey: clientKey), audience: "com.example.app",
            issuer: "https://appleid.apple.com")
    }

    private static func key(_ name: String) throws -> SigningKeys.Key { try keys.get()[name]! }

    var mode: FaultMode {
        get { fault.mode }
        set { fault.mode = newValue }
    }

    func rotateKeys(to name: String) async throws {
        try await accounts.rotateKeys(to: Self.key(name))
    }

    // MARK: - Consents

    /// An authorization code of a person who signs in.
    func code(of sub: String) async throws -> String {
        try await accounts.signIn(SignInRequest(sub: sub)).authorizationCode
    }

    /// Those that are not revoked.
    func refreshTokens(of sub: String) async -> [String] {
        await accounts.refreshTokens(of: sub)
    }

    /// The forms of the requests that the simulator has answered.
    func requests(to path: String) -> [[String: String]] {
        log.entries.filter { $0.path == path }.map(\.parameters)
    }

    // MARK: - What Apple signs

    /// An identity token, good unless `change` spoils its claims or `header` its header.
    func token(
        sub: String, email: String? = nil, nonce: String? = nil, kid: String = "first",
        header: [String: Any] = [:], _ change: (inout [String: Any]) -> Void = { _ in }
    ) throws -> String {
        let now = Int(Date.now.timeIntervalSince1970)
        var claims: [String: Any] = [
            "iss": "https://appleid.apple.com", "aud": "com.example.app", "sub": sub, "iat": now, "exp": now + 600,
        ]
        if let email {
            claims["email"] = email
            claims["email_verified"] = "true"
        }
        if let nonce { claims["nonce"] = nonce }
        change(&claims)
        let fields = ["alg": "RS256", "kid": kid].merging(header) { $1 }
        return try sign(
            header: JSONSerialization.data(withJSONObject: fields),
            payload: JSONSerialization.data(withJSONObject: claims), kid: kid)
    }

    /// A JWS with this header and payload, whatever they are.
    func sign(header: Data, payload: Data, kid: String = "first") throws -> String {
        try Self.key(kid).sign(header: header, payload: payload)
    }

    /// A notification about a user.
    /// - Parameter asObject: as documented, instead of as JSON in a string.
    func notification(_ type: String, of sub: String, at time: Date, asObject: Bool = false) async throws -> String {
        try await accounts.notify(
            NotificationRequest(
                type: type, sub: sub, eventTime: Int(time.timeIntervalSince1970), eventsAsObject: asObject)
        ).payload
    }

    // MARK: - HTTP

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.add(middleware: Interruptions(apple: self))
        AppleRoutes(accounts: accounts, fault: fault, log: log).add(to: router)
        return router
    }

    private struct Interruptions: RouterMiddleware {
        typealias Context = BasicRequestContext

        let apple: SimulatedApple

        func handle(
            _ request: Request, context: Context, next: (Request, Context) async throws -> Response
        ) async throws -> Response {
            let path = request.uri.path
            if path == "/auth/token" { await apple.state.withLock { $0.whileExchanging }?() }
            let answer = apple.state.withLock { state in
                state.answers[path]?.isEmpty == false ? state.answers[path]?.removeFirst() : nil
            }
            guard let answer else { return try await next(request, context) }
            return Response(
                status: answer.status, headers: [.contentType: "application/json"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: answer.text)))
        }
    }
}
