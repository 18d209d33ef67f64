import AccessToken
import Bytes
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// Apple, as identity sees it: keys, codes, revocations; and it makes good and bad tokens for the tests.
final class FakeApple: Sendable {
    enum Mode: CaseIterable {
        case none, down, garbage
        /// The answer's head comes, and then no body, half of one, or a byte of it now and then.
        case stallsAtStart, stallsInBody, drips

        static let stalling: [Mode] = [.stallsAtStart, .stallsInBody, .drips]
    }

    struct State {
        var mode = Mode.none
        var kids = ["first"]
        var keyRequests = 0
        var exchanged: [[String: String]] = []
        var revoked: [[String: String]] = []
        /// Answers of `/auth/revoke` before it works.
        var revokeFailures: [(HTTPResponse.Status, String)] = []
        var knowsCodes = true
        /// Whose the codes are; `nil` for the user of the identity token that was made last.
        var subjectOfCodes: String?
        var lastSubject = ""
        /// Whether Apple says whose the codes are.
        var tellsWhoseCodes = true
        /// Runs while a code is being exchanged, before identity hears of it.
        var whileExchanging: (@Sendable () async -> Void)?
    }

    let state = Mutex(State())
    private let signers: [String: RSASigner]
    private let jwks: [String: [String: String]]

    init() throws {
        var signers: [String: RSASigner] = [:]
        var jwks: [String: [String: String]] = [:]
        for (kid, pem) in [("first", TestKeys.first), ("second", TestKeys.second)] {
            let key = try RSAPrivateKey(pem: pem)
            signers[kid] = try RSASigner(key)
            jwks[kid] = [
                "kty": "RSA", "kid": kid, "use": "sig", "alg": "RS256", "n": Base64URL.string(key.publicKey.modulus),
                "e": Base64URL.string(key.publicKey.exponent),
            ]
        }
        self.signers = signers
        self.jwks = jwks
    }

    func set(_ mode: Mode) {
        state.withLock { $0.mode = mode }
    }

    func publish(_ kids: String...) {
        state.withLock { $0.kids = kids }
    }

    /// An identity token, good unless `change` spoils its claims or `header` its header.
    func token(
        sub: String, email: String? = nil, nonce: String? = nil, kid: String = "first",
        header: [String: Any] = [:], _ change: (inout [String: Any]) -> Void = { _ in }
    ) throws -> String {
        state.withLock { $0.lastSubject = sub }
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
        let signed = "\(Base64URL.string(header)).\(Base64URL.string(payload))"
        return "\(signed).\(Base64URL.string(try signers[kid]!.signature(over: Array(signed.utf8))))"
    }

    /// A notification about a user.
    /// - Parameter asObject: as documented, instead of as JSON in a string.
    func notification(_ type: String, of sub: String, at time: Date, asObject: Bool = false) throws -> String {
        let event: [String: Any] = ["type": type, "sub": sub, "event_time": Int(time.timeIntervalSince1970 * 1000)]
        let text = String(decoding: try JSONSerialization.data(withJSONObject: event), as: UTF8.self)
        let claims: [String: Any] = [
            "iss": "https://appleid.apple.com", "aud": "com.example.app", "iat": Int(Date.now.timeIntervalSince1970),
            "jti": UUID().uuidString, "events": asObject ? event as Any : text as Any,
        ]
        return try sign(
            header: Data(#"{"alg":"RS256","kid":"first"}"#.utf8),
            payload: JSONSerialization.data(withJSONObject: claims))
    }

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.get("auth/keys") { _, _ in
            let (mode, kids) = self.state.withLock { state in
                state.keyRequests += 1
                return (state.mode, state.kids)
            }
            switch mode {
            case .down: return Response(status: .internalServerError)
            case .garbage: return Self.json(.ok, #"{"keys": "none"}"#)
            case .stallsAtStart, .stallsInBody, .drips: return self.stalling()
            case .none:
                let data = try JSONSerialization.data(withJSONObject: ["keys": kids.compactMap { self.jwks[$0] }])
                return Self.json(.ok, String(decoding: data, as: UTF8.self))
            }
        }
        router.post("auth/token") { request, _ in
            let form = try await Self.form(of: request)
            let (mode, knows, hook, subject) = self.state.withLock { state in
                state.exchanged.append(form)
                let subject = state.tellsWhoseCodes ? state.subjectOfCodes ?? state.lastSubject : nil
                return (state.mode, state.knowsCodes, state.whileExchanging, subject)
            }
            await hook?()
            if Mode.stalling.contains(mode) { return self.stalling() }
            guard mode == .none else { return Response(status: .internalServerError) }
            guard knows else { return Self.json(.badRequest, #"{"error":"invalid_grant"}"#) }
            let identity = try subject.map { #","id_token":"\#(try self.token(sub: $0))""# } ?? ""
            return Self.json(
                .ok,
                #"{"access_token":"a","refresh_token":"r-\#(form["code"] ?? "")","expires_in":3600\#(identity)}"#)
        }
        router.post("auth/revoke") { request, _ in
            let form = try await Self.form(of: request)
            if Mode.stalling.contains(self.state.withLock(\.mode)) { return self.stalling() }
            let failure = self.state.withLock { state -> (HTTPResponse.Status, String)? in
                if state.mode != .none { return (.internalServerError, "") }
                if !state.revokeFailures.isEmpty { return state.revokeFailures.removeFirst() }
                state.revoked.append(form)
                return nil
            }
            return failure.map { Self.json($0, $1) } ?? Response(status: .ok)
        }
        return router
    }

    /// An answer whose body does not end until the mode changes or the connection is closed.
    private func stalling() -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody { [self] writer in
                if state.withLock(\.mode) == .stallsInBody { try await writer.write(ByteBuffer(string: #"{"keys":["#)) }
                while true {
                    let mode = state.withLock(\.mode)
                    guard Mode.stalling.contains(mode) else { break }
                    if mode == .drips { try await writer.write(ByteBuffer(string: " ")) }
                    try await Task.sleep(for: .milliseconds(20))
                }
                try await writer.finish(nil)
            })
    }

    private static func json(_ status: HTTPResponse.Status, _ text: String) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(string: text)))
    }

    private static func form(of request: Request) async throws -> [String: String] {
        let text = String(buffer: try await request.body.collect(upTo: 1 << 20))
        return text.split(separator: "&").reduce(into: [:]) { form, pair in
            let parts = pair.split(separator: "=", maxSplits: 1).map { $0.removingPercentEncoding ?? "" }
            form[parts[0]] = parts.count == 2 ? parts[1] : ""
        }
    }
}
