import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

extension SystemTests {
    /// Every wrong input is answered with the contract's problem, and the services go on serving.
    @Suite struct BadInput {
        let journey = Journey.current

        struct Sent: Sendable, CustomTestStringConvertible {
            var name: String
            var method = "POST"
            var path = "/v1/auth/login"
            var type: String? = "application/json"
            var body: Data?
            var code: String

            var testDescription: String { name }

            init(
                _ name: String, _ method: String = "POST", _ path: String = "/v1/auth/login",
                type: String? = "application/json", body: String?, code: String
            ) {
                self.name = name
                self.method = method
                self.path = path
                self.type = type
                self.body = body.map { Data($0.utf8) }
                self.code = code
            }
        }

        static let good = #""identifier":"a@example.com","password":"long enough""#
        static let bodies: [Sent] = [
            Sent("no JSON", body: "{", code: "INVALID_REQUEST"),
            Sent("no body", body: nil, code: "INVALID_REQUEST"),
            Sent("a list", body: "[]", code: "INVALID_REQUEST"),
            Sent("a string", body: #""x""#, code: "INVALID_REQUEST"),
            Sent("trailing bytes", body: "{\(good)} x", code: "INVALID_REQUEST"),
            Sent("trailing comma", body: "{\(good),}", code: "INVALID_REQUEST"),
            Sent("byte-order mark", body: "\u{FEFF}{\(good)}", code: "INVALID_REQUEST"),
            Sent("missing field", body: #"{"identifier":"a@example.com"}"#, code: "INVALID_REQUEST"),
            Sent(
                "null for a needed field", body: #"{"identifier":"a@example.com","password":null}"#,
                code: "INVALID_REQUEST"),
            Sent("wrong type", body: #"{"identifier":7,"password":"long enough"}"#, code: "INVALID_REQUEST"),
            Sent("wrong nested type", body: #"{\#(good),"device":{"name":[]}}"#, code: "INVALID_REQUEST"),
            Sent("duplicate key", body: #"{\#(good),"password":"other"}"#, code: "INVALID_REQUEST"),
            Sent("duplicate key by escape", body: #"{\#(good),"passw\u006frd":"other"}"#, code: "INVALID_REQUEST"),
            Sent(
                "NUL in a string", body: #"{"identifier":"a\u0000@example.com","password":"long enough"}"#,
                code: "INVALID_REQUEST"),
            Sent(
                "too deep",
                body: #"{\#(good),"x":\#(String(repeating: "[", count: 40))\#(String(repeating: "]", count: 40))}"#,
                code: "INVALID_REQUEST"),
            Sent("lone surrogate", body: #"{"identifier":"\ud800","password":"long enough"}"#, code: "INVALID_REQUEST"),
            Sent(
                "form instead of JSON", type: "application/x-www-form-urlencoded", body: "identifier=a",
                code: "UNSUPPORTED_MEDIA_TYPE"),
            Sent("no media type", type: nil, body: "{\(good)}", code: "UNSUPPORTED_MEDIA_TYPE"),
            Sent(
                "junk refresh token", "POST", "/v1/auth/refresh", body: #"{"refreshToken":"junk"}"#,
                code: "INVALID_REFRESH_TOKEN"),
            Sent(
                "huge refresh token", "POST", "/v1/auth/refresh",
                body: #"{"refreshToken":"ghrt_\#(String(repeating: "A", count: 20_000))"}"#,
                code: "INVALID_REFRESH_TOKEN"),
            Sent("unknown path", "GET", "/v1/nothing", type: nil, body: nil, code: "NOT_FOUND"),
            Sent("unknown path, POST", "POST", "/v2/auth/login", body: "{}", code: "NOT_FOUND"),
            Sent("internal path", "GET", "/internal/revocations", type: nil, body: nil, code: "NOT_FOUND"),
            Sent(
                "internal path by dots", "GET", "/v1/auth/../../internal/revocations", type: nil, body: nil,
                code: "INVALID_REQUEST"
            ),
            Sent(
                "internal path by escape", "GET", "/v1/%2e%2e/internal/revocations", type: nil, body: nil,
                code: "INVALID_REQUEST"),
            Sent("wrong method", "GET", "/v1/auth/login", type: nil, body: nil, code: "METHOD_NOT_ALLOWED"),
            Sent("wrong method on a bearer's route", "PUT", "/v1/auth/me", body: "{}", code: "METHOD_NOT_ALLOWED"),
            Sent("no bearer", "GET", "/v1/auth/me", type: nil, body: nil, code: "INVALID_TOKEN"),
            Sent(
                "10 MB body", body: #"{"identifier":"\#(String(repeating: "a", count: 10_000_000))"}"#,
                code: "PAYLOAD_TOO_LARGE"),
        ]

        @Test(arguments: bodies)
        func isRefusedInTheContractsForm(_ sent: Sent) async throws {
            let answer = try await answer(to: sent)
            try #require(answer.code == sent.code, "\(answer.status) \(answer.text.prefix(300))")
            let problem = try answer.problem()
            #expect(problem.status == answer.status)
            #expect(ErrorCode(rawValue: sent.code)?.status == answer.status)
            #expect(problem.requestId == answer.header("x-request-id"))
            #expect(!problem.detail.isEmpty)
            if answer.status == 405 { #expect(answer.header("allow") != nil) }
            if answer.status == 401, problem.code == "INVALID_TOKEN" {
                #expect(answer.header("www-authenticate")?.hasPrefix("Bearer") == true)
            }
        }

        /// An answer that comes before the request is through can be lost by AsyncHTTPClient: it closes the connection
        /// first, and takes the failure of what it was still writing for the exchange's.
        private func answer(to sent: Sent) async throws -> TestHTTPClient.Response {
            let headers = sent.type.map { ["Content-Type": $0] } ?? [:]
            var answer: TestHTTPClient.Response?
            try await eventually("the answer is not lost by the client") {
                do {
                    answer = try await journey.api.call(sent.method, sent.path, headers: headers, body: sent.body)
                } catch is TestHTTPClient.AnswerBrokenOff where (sent.body?.count ?? 0) > 1 << 20 {}
                return answer != nil
            }
            return try #require(answer)
        }

        @Test func everyRouteRefusesAnInvalidBody() async throws {
            let session = try await journey.register()
            for route in PublicRoute.all where route.method == "POST" || route.method == "PATCH" {
                for body in ["{", #"{"a":1,"a":2}"#, "\u{0}", "[[[[[[[[[[[[[[[[[[[[[[", "{}{}"] {
                    let answer = try await journey.api.call(
                        route.method, route.path, bearer: route.bearer == .required ? session.accessToken : nil,
                        headers: ["Content-Type": "application/json"], body: Data(body.utf8))
                    #expect(
                        (400..<500).contains(answer.status), "\(route.path) \(body): \(answer.status) \(answer.text)")
                }
            }
            #expect(try await journey.me(session.accessToken).status == 200)
        }

        @Test func bothBasePathsServeEveryRoute() async throws {
            for route in PublicRoute.all where route.path.hasPrefix("/v1") && route.bearer == .required {
                let path = "/api" + route.path.replacing("{kind}", with: "email")
                let answer = try await journey.api.call(route.method, path, body: nil)
                #expect(answer.code == "INVALID_TOKEN", "\(route.method) \(route.path): \(answer.text)")
            }
        }

        /// The gateway adds lines of its own; the services must not count them against the client. Written to a socket
        /// without TLS.
        @Test(.onlyInASystemOfItsOwn, arguments: ["/v1/auth/me", "/v1/auth/sessions", "/v1/devices"])
        func aHeadOfTheMaximumSizeReachesTheService(_ path: String) async throws {
            let session = try await journey.register()
            let gateway = GatehouseSystem.current.process("gateway").url
            let lines = [
                "GET \(path) HTTP/1.1", "Host: gatehouse.test", "Connection: close",
                "Authorization: Bearer \(session.accessToken)",
            ]
            func status(_ more: [String]) async throws -> String {
                let head = (lines + more).joined(separator: "\r\n") + "\r\n\r\n"
                let (answer, _) = try await rawExchange(gateway, [head])
                return String(answer.prefix(12))
            }
            func fields(_ count: Int) -> [String] { (lines.count...count).map { "X-Filler-\($0): y" } }
            #expect(try await status(fields(100)) == "HTTP/1.1 200")
            #expect(try await status(fields(101)) == "HTTP/1.1 431")

            let others = lines + ["X-Filler: "]
            let room = 16 * 1024 - others.map { $0.utf8.count + 2 }.reduce(2, +)
            func filler(_ size: Int) -> [String] { ["X-Filler: " + String(repeating: "x", count: size)] }
            #expect(try await status(filler(room)) == "HTTP/1.1 200")
            #expect(try await status(filler(room + 1)) == "HTTP/1.1 431")
        }

        @Test func theClientsRequestIdentifierIsKeptIfWellFormed() async throws {
            let kept = try await journey.api.call(
                "GET", "/v1/auth/me", headers: ["X-Request-Id": "abc_DEF-1"], body: nil)
            #expect(kept.header("x-request-id") == "abc_DEF-1")
            for bad in ["a b", String(repeating: "x", count: 65), "ä", "a;b"] {
                let replaced = try await journey.api.call(
                    "GET", "/v1/auth/me", headers: ["X-Request-Id": bad], body: nil)
                #expect(replaced.header("x-request-id") != bad)
                #expect(replaced.header("x-request-id") != nil)
            }
        }
    }
}
