import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityCredentials

extension AccountServiceTests {
    @Suite struct PasswordRoutesTests {
        @Test func registersByAddressAndByNumber() async throws {
            try await withIdentity { identity in
                let answer = try await identity.post(
                    "/v1/auth/register",
                    RegisterRequest(
                        identifier: " Ada@Example.com", password: "tulpenzwiebel", displayName: "Ada",
                        device: SessionDevice(name: "Ada's iPhone")))
                #expect(answer.status == 201)
                #expect(answer.header("Cache-Control") == "no-store")
                let auth: AuthResponse = try answer.decode()
                #expect(auth.user.email == "ada@example.com")
                #expect(auth.user.displayName == "Ada")
                #expect(!auth.user.emailVerified)
                #expect(auth.user.role == "user")
                #expect(auth.user.authProviders == [.password])
                let request = identity.tokens.state.withLock { $0.sessions.values.first }
                #expect(request?.device?.name == "Ada's iPhone")
                #expect(request?.ipAddress == "127.0.0.1")
                #expect(request?.snapshot.version == 1)

                let phone = try await identity.register("0049 (0)171 1234567")
                #expect(phone.user.phone == "+491711234567")
                #expect(phone.user.id != auth.user.id)

                for spelling in ["ada@example.com", "ADA@EXAMPLE.COM", "ａda@example.com"] {
                    let login: AuthResponse = try await identity.login(spelling).decode()
                    #expect(login.user == auth.user)
                }
                let byPhone: AuthResponse = try await identity.login("tel:+49-171-1234567").decode()
                #expect(byPhone.user.id == phone.user.id)
            }
        }

        @Test func aWrongPasswordAndNoAccountLookTheSame() async throws {
            try await withIdentity { identity in
                _ = try await identity.register("ada@example.com")
                let wrong = try await identity.login("ada@example.com", "tulpenzwiebe1")
                let nobody = try await identity.login("eve@example.com", "tulpenzwiebe1")
                for answer in [wrong, nobody] {
                    #expect(answer.status == 401)
                    #expect(answer.code == "INVALID_CREDENTIALS")
                }
                var (first, second) = (
                    try wrong.decode(ProblemDocument.self), try nobody.decode(ProblemDocument.self)
                )
                first.requestId = ""
                second.requestId = ""
                #expect(first == second)
                #expect(identity.tokens.liveCount == 1)
            }
        }

        @Test func repeatingARegistrationAnswersIt() async throws {
            try await withIdentity { identity in
                let first = try await identity.register("ada@example.com")
                let again = try await identity.register("ADA@example.com")
                #expect(again.user == first.user)
                let other = try await identity.post(
                    "/v1/auth/register", RegisterRequest(identifier: "ada@example.com", password: "kaffeekuchen"))
                #expect(other.status == 409)
                #expect(other.code == "IDENTIFIER_TAKEN")
                try await identity.database.query("UPDATE users SET created_at = now() - interval '11 minutes'")
                let late = try await identity.post(
                    "/v1/auth/register", RegisterRequest(identifier: "ada@example.com", password: "tulpenzwiebel"))
                #expect(late.code == "IDENTIFIER_TAKEN")
            }
        }

        @Test func aRegistrationWhoseSessionFailedIsAnsweredByItsRepetition() async throws {
            try await withIdentity { identity in
                identity.tokens.state.withLock { $0.isDown = true }
                let failed = try await identity.post(
                    "/v1/auth/register", RegisterRequest(identifier: "ada@example.com", password: "tulpenzwiebel"))
                #expect(failed.status == 503)
                #expect(failed.code == "UNAVAILABLE")
                #expect(failed.header("Retry-After") != nil)
                identity.tokens.state.withLock { $0.isDown = false }
                _ = try await identity.register("ada@example.com")
                #expect(try await identity.database.query("SELECT id FROM users").count == 1)
            }
        }

        @Test func manyAtOnceMakeOneAccount() async throws {
            try await withIdentity { identity in
                let answers = try await withThrowingTaskGroup(of: TestHTTPClient.Response.self) { group in
                    for index in 0..<20 {
                        let request = RegisterRequest(
                            identifier: "ada@example.com", password: index < 10 ? "tulpenzwiebel" : "kaffeekuchen")
                        group.addTask {
                            // On a busy machine the twenty hashes take longer than the default deadline.
                            try await identity.send(
                                .POST, "/v1/auth/register", json: String(decoding: JSON.encode(request), as: UTF8.self),
                                headers: [
                                    HeaderName.credential: Harness.gatewayCredential, HeaderName.deadline: "60000",
                                ])
                        }
                    }
                    return try await group.reduce(into: [TestHTTPClient.Response]()) { $0.append($1) }
                }
                #expect(answers.count { $0.status == 201 } == 10)
                #expect(answers.count { $0.code == "IDENTIFIER_TAKEN" } == 10)
                #expect(try await identity.database.query("SELECT id FROM users").count == 1)
            }
        }

        @Test(
            arguments: [
                (#"{"identifier":"ada@example.com","password":"short"}"#, 422, "WEAK_PASSWORD", "password"),
                (#"{"identifier":"ada@example.com","password":"password"}"#, 422, "WEAK_PASSWORD", "password"),
                (#"{"identifier":"ada@example.com","password":"ada@example.com"}"#, 422, "WEAK_PASSWORD", "password"),
                (#"{"identifier":"ada","password":"tulpenzwiebel"}"#, 400, "INVALID_REQUEST", "identifier"),
                (#"{"identifier":"0171 1234567","password":"tulpenzwiebel"}"#, 400, "INVALID_REQUEST", "identifier"),
                (
                    #"{"identifier":"a\u200bda@example.com","password":"tulpenzwiebel"}"#, 400, "INVALID_REQUEST",
                    "identifier"
                ),
                (#"{"password":"tulpenzwiebel"}"#, 400, "INVALID_REQUEST", "identifier"),
                (#"{"identifier":"ada@example.com"}"#, 400, "INVALID_REQUEST", "password"),
                (#"{"identifier":null,"password":"tulpenzwiebel"}"#, 400, "INVALID_REQUEST", "identifier"),
                (#"{"identifier":7,"password":"tulpenzwiebel"}"#, 400, "INVALID_REQUEST", "identifier"),
                (#"{"identifier":"ada@example.com","password":""}"#, 400, "INVALID_REQUEST", "password"),
                (
                    #"{"identifier":"a@b.co","password":"tulpenzwiebel","displayName":"a\nb"}"#, 400, "INVALID_REQUEST",
                    "displayName"
                ),
                (
                    #"{"identifier":"a@b.co","password":"tulpenzwiebel","device":{"name":"\u202e"}}"#, 400,
                    "INVALID_REQUEST", "device.name"
                ),
                (#"{"identifier":"a@b.co","password":"tulpenzwiebel","device":7}"#, 400, "INVALID_REQUEST", "device"),
            ])
        func namesTheFieldThatIsWrong(body: String, status: Int, code: String, field: String) async throws {
            try await withIdentity { identity in
                let answer = try await identity.send(.POST, "/v1/auth/register", json: body)
                #expect(answer.status == status)
                #expect(answer.code == code)
                #expect(try answer.decode(ProblemDocument.self).errors?.map(\.field) == [field])
                #expect(answer.header("Content-Type") == "application/problem+json")
            }
        }

        @Test func nothingThatAClientSendsIsA500() async throws {
            try await withIdentity { identity in
                let bodies = [
                    "", "{", "[]", "null", "7", "{}", #"{"identifier":"a@b.co","identifier":"a@b.co","password":"x"}"#,
                    #"{"identifier":"a\u0000@b.co","password":"tulpenzwiebel"}"#, "\u{FEFF}{}", "{} x",
                    String(repeating: "[", count: 50_000), #"{"identifier":{},"password":[]}"#,
                ]
                let paths = [
                    "/v1/auth/register", "/v1/auth/login", "/v1/auth/apple", "/v1/auth/apple/notifications",
                    "/v1/auth/password/forgot", "/v1/auth/password/reset", "/api/v1/auth/login",
                ]
                for path in paths {
                    for body in bodies {
                        let answer = try await identity.send(.POST, path, json: body)
                        #expect((400..<500).contains(answer.status), "\(path) \(body.prefix(40)) \(answer.status)")
                        #expect(answer.code != nil)
                    }
                    let large = try await identity.send(
                        .POST, path, json: #"{"identifier":"\#(String(repeating: "a", count: 70_000))"}"#)
                    #expect(large.code == "PAYLOAD_TOO_LARGE")
                    let form = try await identity.send(
                        .POST, path, json: "a=b", headers: ["Content-Type": "application/x-www-form-urlencoded"])
                    #expect(form.code == "UNSUPPORTED_MEDIA_TYPE")
                    let wrong = try await identity.send(.GET, path)
                    #expect(wrong.code == "METHOD_NOT_ALLOWED")
                    #expect(wrong.header("Allow") == "POST")
                }
                #expect(try await identity.send(.POST, "/v1/auth/nothing", json: "{}").code == "NOT_FOUND")
            }
        }

        @Test func nationalNumbersAreUnderstoodWhereTheCountryIsNamed() async throws {
            try await withIdentity(["IDENTITY_PHONE_CALLING_CODE": "49"]) { identity in
                let auth = try await identity.register("0171 1234567")
                #expect(auth.user.phone == "+491711234567")
            }
        }

        @Test func aPasswordHashIsMadeAnewUnderTheCurrentPepper() async throws {
            try await withIdentity { identity in
                _ = try await identity.register("ada@example.com")
                let password = try Password("tulpenzwiebel")
                let small = Argon2Parameters(memory: 64, iterations: 1, parallelism: 1)
                let salt = [UInt8](repeating: 1, count: 16)
                let bare = try #require(
                    Argon2.hash(Array(password.text.utf8), salt: salt, parameters: small, length: 32))
                let old = PasswordHash(parameters: small, pepperID: nil, salt: salt, hash: bare).phcString
                try await identity.database.query("UPDATE passwords SET hash = \(old)")
                #expect(try await identity.login("ada@example.com").status == 200)
                let new = try await identity.database.query("SELECT hash FROM passwords")[0].decode(String.self)
                #expect(new.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1,keyid="))
                #expect(try await identity.login("ada@example.com").status == 200)
            }
        }
    }
}
