import Foundation
import GatehouseAccessTokens
import GatehouseBytes
import GatehouseServiceContracts
import Testing

@testable import GatewayService

@Suite("The rules of admission")
struct AdmissionRulesTests {
    /// What the rules can ask about a request, in the order of the contract.
    private enum Question: Int, CaseIterable {
        case connectionLimit, permit, address, isOptions, preflight, hasMaxForwards, maxForwards, memory, document,
            signIn, bearer, permitForKeys, user, route, bodyLength, expectation, time, stream
    }

    /// Answers what the rules ask: as a script says, and after its end each time with the first possible answer.
    private final class Checks: AdmissionChecks {
        private let script: [Int]
        /// The questions that were asked, and the position of each answer among the possible ones.
        private(set) var answers: [(question: Question, answer: Int, of: Int)] = []
        private(set) var countedUsers: [UserKey?] = []

        init(_ script: [Int]) { self.script = script }

        func answer(to question: Question) -> Int? { answers.first { $0.question == question }?.answer }

        private func choose<Answer>(_ question: Question, _ possible: [Answer]) -> Answer {
            if let known = answer(to: question) {
                #expect(question == .isOptions, "only the method is asked for twice")
                return possible[known]
            }
            let answer = answers.count < script.count ? script[answers.count] : 0
            answers.append((question, answer, possible.count))
            return possible[answer]
        }

        /// The script that follows this one; `nil` after the last.
        var nextScript: [Int]? {
            var script = answers
            while let last = script.popLast() {
                if last.answer + 1 < last.of { return script.map(\.answer) + [last.answer + 1] }
            }
            return nil
        }

        var isOverConnectionLimit: Bool { choose(.connectionLimit, [false, true]) }
        var isOptions: Bool { choose(.isOptions, [false, true]) }
        var hasMaxForwards: Bool { choose(.hasMaxForwards, [false, true]) }
        var maxForwards: Int? { choose(.maxForwards, [7, 0, nil]) }
        var isOutputShort: Bool { choose(.memory, [false, true]) }
        var bodyLength: Int? { choose(.bodyLength, [nil, 10, 11]) }
        var hasUnknownExpectation: Bool { choose(.expectation, [false, true]) }
        var wallClock: Int64 { AdmissionRulesTests.wallClock }

        func takePermit() -> Bool { choose(.permit, [true, false]) }
        func makePreflightResponse() -> Bool { choose(.preflight, [false, true]) }
        func makeDocument() -> Bool { choose(.document, [true, false]) }
        func takePermitToWaitForKeys() -> Bool { choose(.permitForKeys, [true, false]) }
        var isInTime: Bool { choose(.time, [true, false]) }
        var hasRoomForStream: Bool { choose(.stream, [true, false]) }
        func verifyBearer() -> CachingBearerVerifier.Verification? { choose(.bearer, AdmissionRulesTests.bearers) }

        func count(in limit: AdmissionLimit, user: UserKey?) -> RateLimit.Excess? {
            if limit == .user || limit == .route { countedUsers.append(user) } else { #expect(user == nil) }
            let question: Question =
                switch limit {
                case .address: .address
                case .signIn: .signIn
                case .user: .user
                case .route: .route
                }
            return choose(question, [nil, AdmissionRulesTests.excess])
        }
    }

    private static let wallClock: Int64 = 1_800_000_000
    private static let excess = RateLimit.Excess(
        retryAfter: .milliseconds(1_500), limit: RateLimit(capacity: 3, perSecond: 0.5))

    private static func token(_ role: String, age: Int64) -> VerifiedToken {
        var claims = GatewayHarness.claims(role: role)
        claims.authenticationTime = wallClock - age
        return VerifiedToken(claims, identityLines: [], generation: 0)
    }

    private static let tokens = [
        token("courier", age: 5), token("courier", age: 5_000), token("customer", age: 5),
        token("customer", age: 5_000),
    ]
    private static let bearers: [CachingBearerVerifier.Verification?] =
        tokens.map { .accepted($0) } + [nil, .refused(.tokenExpired), .waitsForKeys]

    private static func route(
        _ target: Route.Target, _ authentication: PublicRoute.Bearer = .none, roles: Set<VerbatimString> = [],
        age: Int? = nil, isSignIn: Bool = false
    ) -> Route {
        Route(
            name: "route", pattern: PathPattern("/route")!, methods: .all, authentication: authentication, roles: roles,
            maximumAuthenticationAge: age, target: target, bodyLimit: 10, timeout: .seconds(1), isSignIn: isSignIn)
    }

    /// Routes with each combination of what the rules look at.
    private static let forwardedRoutes: [Route] = {
        let service = Upstream(name: "service", addresses: [.init(host: "127.0.0.1", port: 1)], isGatehouse: true)
        let roleSets: [Set<VerbatimString>] = [[], ["courier"]]
        var routes: [Route] = []
        for authentication in PublicRoute.Bearer.allCases {
            for roles in roleSets {
                for age in [nil, 600] {
                    for isSignIn in [false, true] {
                        routes.append(
                            route(.upstream(service), authentication, roles: roles, age: age, isSignIn: isSignIn))
                    }
                }
            }
        }
        return routes
    }()

    /// Decides about a request once for each combination of answers that the rules can get.
    private static func explore(_ match: RouteTable.Match, _ visit: (AdmissionDecision, Checks) -> Void) {
        var script: [Int]? = []
        while let next = script {
            var checks = Checks(next)
            let decision = AdmissionRules.decide(match, &checks)
            visit(decision, checks)
            script = checks.nextScript
        }
    }

    // MARK: The contract

    /// One line of the contract.
    private struct Step {
        /// `nil` where the rules need not ask.
        var question: Question?
        var applies: (Case) -> Bool = { _ in true }
        /// `nil`: the next step decides.
        var outcome: (Case) -> String?
    }

    /// A request to a route, with the answers that the rules have got.
    private struct Case {
        let route: Route
        let checks: Checks

        func isFirst(_ question: Question) -> Bool { checks.answer(to: question) == 0 }
        var isOptions: Bool { checks.answer(to: .isOptions) == 1 }
        var bearer: CachingBearerVerifier.Verification? {
            checks.answer(to: .bearer).flatMap { AdmissionRulesTests.bearers[$0] }
        }
        /// The position of its token in `tokens`.
        var token: Int? { checks.answer(to: .bearer).flatMap { $0 < AdmissionRulesTests.tokens.count ? $0 : nil } }
        var isCourier: Bool { token == 0 || token == 1 }
        var isRecent: Bool { token == 0 || token == 2 }
        var waits: Bool {
            if case .waitsForKeys = bearer { route.authentication != .reported } else { false }
        }
    }

    private static func refusal(_ question: Question, _ outcome: String) -> Step {
        Step(question: question) { $0.isFirst(question) ? nil : outcome }
    }

    private static func fact(_ question: Question, _ applies: @escaping (Case) -> Bool = { _ in true }) -> Step {
        Step(question: question, applies: applies) { _ in nil }
    }

    private static var contract: [Step] {
        [
            refusal(.connectionLimit, "UNAVAILABLE"),
            refusal(.permit, "UNAVAILABLE"),
            refusal(.address, "RATE_LIMITED address"),
            fact(.isOptions),
            Step(question: .preflight, applies: \.isOptions) { $0.isFirst(.preflight) ? nil : "preflight" },
            fact(.hasMaxForwards, \.isOptions),
            Step(question: .maxForwards, applies: { $0.isOptions && !$0.isFirst(.hasMaxForwards) }) {
                [nil, "allowedMethods", "INVALID_REQUEST"][$0.checks.answer(to: .maxForwards)!]
            },
            Step(question: .signIn, applies: \.route.isSignIn) { $0.isFirst(.signIn) ? nil : "RATE_LIMITED sign-in" },
            Step(question: .bearer, applies: { $0.route.authentication != .none }) { request in
                switch request.bearer {
                case nil: request.route.authentication == .required ? "INVALID_TOKEN" : nil
                case .refused: request.route.authentication == .reported ? nil : "TOKEN_EXPIRED"
                case .accepted, .waitsForKeys: nil
                }
            },
            Step(question: .permitForKeys, applies: \.waits) { $0.isFirst(.permitForKeys) ? "waits" : "UNAVAILABLE" },
            Step(applies: { !$0.route.roles.isEmpty && !$0.isCourier }) { _ in "FORBIDDEN" },
            Step(applies: { $0.route.maximumAuthenticationAge != nil && !$0.isRecent }) { _ in
                "REAUTHENTICATION_REQUIRED"
            },
            Step(question: .user, applies: { $0.token != nil }) { $0.isFirst(.user) ? nil : "RATE_LIMITED user" },
            refusal(.route, "RATE_LIMITED route"),
            Step(question: .bodyLength) { $0.checks.answer(to: .bodyLength) == 2 ? "PAYLOAD_TOO_LARGE" : nil },
            refusal(.expectation, "EXPECTATION_FAILED"),
            refusal(.time, "UNAVAILABLE"),
            refusal(.stream, "UNAVAILABLE"),
        ]
    }

    private static func describe(_ decision: AdmissionDecision) -> String {
        switch decision {
        case .forward: "forward"
        case .respond(let response): "\(response)"
        case .waitForKeys: "waits"
        case .refuse(.limitExceeded(let limit, _)): "RATE_LIMITED \(limit.rawValue)"
        case .refuse(let refusal): refusal.code.rawValue
        }
    }

    @Test("Of all checks that a request fails the first of the contract decides, and no later one is performed")
    func order() {
        let contract = Self.contract
        var paths = 0
        var outcomes: Set<String> = []
        for route in Self.forwardedRoutes {
            Self.explore(.route(route, forwardedPath: 0..<6)) { decision, checks in
                paths += 1
                let request = Case(route: route, checks: checks)
                var questions: [Question] = []
                var outcome: String?
                for step in contract where outcome == nil && step.applies(request) {
                    if let question = step.question { questions.append(question) }
                    guard step.question.map({ checks.answer(to: $0) != nil }) ?? true else { break }
                    outcome = step.outcome(request)
                }
                #expect(checks.answers.map(\.question) == questions, "\(route.authentication)")
                #expect(Self.describe(decision) == outcome ?? "forward", "\(questions)")
                outcomes.insert(Self.describe(decision))
            }
        }
        #expect(outcomes.count == 16 && paths > 2_000, "\(outcomes) on \(paths) paths")
    }

    @Test("A request is forwarded with its user, the error of its bearer, and one hop less")
    func forwarded() {
        for route in Self.forwardedRoutes {
            Self.explore(.route(route, forwardedPath: 0..<6)) { decision, checks in
                guard case .forward(let identity, let error, let hops) = decision else { return }
                let request = Case(route: route, checks: checks)
                #expect(identity === request.token.map { Self.tokens[$0] })
                let users: [UserKey?] = identity.map { [$0.userKey, $0.userKey] } ?? [nil]
                #expect(checks.countedUsers == users)
                #expect(hops == (checks.answer(to: .maxForwards) == nil ? nil : 6))
                switch request.bearer {
                case .refused(let code): #expect(error == code && route.authentication == .reported)
                case .waitsForKeys: #expect(error == .unavailable && route.authentication == .reported)
                case .accepted, nil: #expect(error == nil)
                }
            }
        }
    }

    /// The outcomes in the order in which the exploration meets them: the first one has passed every check.
    private static func outcomes(_ match: RouteTable.Match) -> [String] {
        var outcomes: [String] = []
        explore(match) { decision, _ in outcomes.append(describe(decision)) }
        return outcomes
    }

    @Test("The gateway's own health is told before all limits")
    func health() {
        for target in [Route.Target.liveness, .readiness] {
            #expect(Self.outcomes(.route(Self.route(target), forwardedPath: 0..<6)) == ["health"])
        }
    }

    @Test("Documents are limited by connection and address, and by memory")
    func documents() {
        for target in [Route.Target.document(.openAPI), .consoleSettings(basePath: "/v1")] {
            #expect(
                Self.outcomes(.route(Self.route(target), forwardedPath: 0..<6)) == [
                    "document", "NOT_FOUND", "UNAVAILABLE",
                    // OPTIONS, without Max-Forwards and with it.
                    "document", "NOT_FOUND", "UNAVAILABLE", "document", "NOT_FOUND", "UNAVAILABLE",
                    "allowedMethods", "INVALID_REQUEST", "preflight",
                    "RATE_LIMITED address", "UNAVAILABLE",
                ])
        }
    }

    @Test("A request without a route is counted for its address first, and may be a preflight")
    func unknown() {
        for (match, code) in [
            (RouteTable.Match.notFound, "NOT_FOUND"), (.methodNotAllowed(allow: "GET"), "METHOD_NOT_ALLOWED"),
        ] {
            #expect(Self.outcomes(match) == [code, code, "preflight", "RATE_LIMITED address", "UNAVAILABLE"])
        }
    }

    // MARK: Responses

    private static let refusals: [(AdmissionRefusal, status: Int, fields: String, oauthStatus: Int, oauth: String)] = [
        (.unavailable, 503, "Retry-After: 1\r\n", 503, "temporarily_unavailable"),
        (
            .limitExceeded(.signIn, excess), 429,
            "RateLimit-Policy: \"sign-in\";q=3;w=6\r\nRateLimit: \"sign-in\";r=0;t=2\r\nRetry-After: 2\r\n", 429,
            "temporarily_unavailable"
        ),
        (.notFound, 404, "", 400, "invalid_request"),
        (.methodNotAllowed(allow: "GET, PUT"), 405, "Allow: GET, PUT\r\n", 400, "invalid_request"),
        (.invalidMaxForwards, 400, "", 400, "invalid_request"),
        (.bearerMissing, 401, "WWW-Authenticate: Bearer realm=\"gatehouse\"\r\n", 401, "invalid_client"),
        (
            .bearerRefused(.invalidToken), 401,
            "WWW-Authenticate: Bearer realm=\"gatehouse\", error=\"invalid_token\", "
                + "error_description=\"The access token is not valid\"\r\n", 401, "invalid_client"
        ),
        (
            .bearerRefused(.tokenExpired), 401,
            "WWW-Authenticate: Bearer realm=\"gatehouse\", error=\"invalid_token\", "
                + "error_description=\"The access token has expired\"\r\n", 401, "invalid_client"
        ),
        (.bearerRefused(.headersTooLarge), 431, "", 400, "invalid_request"),
        (.bearerRefused(.unavailable), 503, "Retry-After: 1\r\n", 503, "temporarily_unavailable"),
        (.roleMissing, 403, "", 400, "invalid_request"),
        (
            .reauthenticationRequired(maximumAge: 600), 403,
            "WWW-Authenticate: Bearer error=\"insufficient_user_authentication\", "
                + "error_description=\"A more recent proof is needed\", max_age=\"600\"\r\n", 400, "invalid_request"
        ),
        (.bodyTooLarge, 413, "", 413, "invalid_request"),
        (.unknownExpectation, 417, "", 400, "invalid_request"),
    ]

    @Test("Each refusal has its status, its code and its fields, in both forms")
    func responses() throws {
        for (refusal, status, fields, oauthStatus, oauth) in Self.refusals {
            func response(_ form: ErrorForm) -> (LocalResponse, body: String) {
                let problem = refusal.problem
                let response = LocalResponse.refusal(
                    problem, as: form, requestID: Array("id".utf8), fields: refusal.fields(of: problem))
                guard case .text(let body) = response.body else { return (response, "") }
                return (response, body)
            }
            let (problem, body) = response(.problem)
            #expect(problem.status == status && problem.contentType == "application/problem+json", "\(refusal)")
            #expect(problem.fields == fields + "Cache-Control: no-store\r\n", "\(refusal)")
            #expect(body.hasPrefix(#"{"code":"\#(refusal.code.rawValue)","#), "\(refusal)")
            let (ofOAuth, text) = response(.oauth)
            #expect(ofOAuth.status == oauthStatus && text.hasPrefix(#"{"error":"\#(oauth)","#), "\(refusal): \(text)")
        }
    }
}
