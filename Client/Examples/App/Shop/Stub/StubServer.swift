#if DEBUG
    import Foundation
    import GatehouseClient
    import GatehouseContracts

    extension GatehouseClient {
        /// A client with an in-memory server, for UI tests and previews. With an in-memory store, the app starts signed
        /// out.
        ///
        /// - Parameter requiresReauthentication: requires reauthentication, as a server does ten minutes after the
        ///   sign-in.
        static func stub(
            _ store: any TokenStore = InMemoryTokenStore(), requiresReauthentication: Bool = false
        ) -> GatehouseClient {
            .live(baseURL: URL(string: "https://stub.invalid")!) {
                $0.store = store
                $0.transport = StubServer(requiresReauthentication: requiresReauthentication)
                $0.connectivity = AlwaysOnline()
            }
        }

        /// The client for the launch argument `-stub`. If `STUB_KEYCHAIN` is in the environment, the session is in the
        /// Keychain under that name.
        static var stubOfThisLaunch: GatehouseClient? {
            guard ProcessInfo.processInfo.arguments.contains("-stub") else { return nil }
            guard let name = ProcessInfo.processInfo.environment["STUB_KEYCHAIN"] else { return .stub() }
            return .stub(KeychainTokenStore(KeychainTokenStore.Options(service: "shop.stub", account: name)))
        }
    }

    /// A server with one user, `ada@example.com` with the password `correct horse`, which answers the app's requests.
    /// It accepts its tokens in another process too.
    actor StubServer: GatehouseTransport {
        private var user = GatehouseClient.User(
            id: UUID(), email: "ada@example.com", displayName: "Ada", emailVerified: true, role: "customer",
            authProviders: [.password], createdAt: Date(timeIntervalSince1970: 1_767_225_600))
        private var hasEnded = false
        private var requiresReauthentication: Bool

        init(requiresReauthentication: Bool) { self.requiresReauthentication = requiresReauthentication }

        func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
            let line = "\(request.httpMethod ?? "GET") \(request.url?.path ?? "")"
            switch line {
            case "POST /v1/auth/login": return try signIn(request)
            case "POST /v1/auth/refresh" where !hasEnded: return try answer(request, 200, session())
            case "POST /v1/auth/refresh": return try refuse(request, .invalidRefreshToken)
            case "POST /v1/auth/logout":
                hasEnded = true
                return try answer(request, 204)
            case "POST /v1/auth/password/forgot": return try answer(request, 202)
            case _ where hasEnded || request.value(forHTTPHeaderField: "Authorization") != "Bearer stub-access":
                return try refuse(request, .invalidToken)
            case "GET /v1/auth/me": return try answer(request, 200, user)
            case "GET /v1/auth/sessions": return try answer(request, 200, SessionList(sessions: [thisDevice]))
            case "GET /v1/orders": return try answer(request, 200, ["items": [["id": 7], ["id": 8]]])
            case "POST /v1/auth/logout-all": return try answer(request, 204)
            case "POST /v1/auth/reauthenticate": return try reauthenticate(request)
            case "DELETE /v1/auth/account" where requiresReauthentication:
                return try refuse(request, .reauthenticationRequired)
            case "DELETE /v1/auth/account":
                hasEnded = true
                return try answer(request, 202)
            default: return try refuse(request, .notFound)
            }
        }

        private func signIn(_ request: URLRequest) throws -> (Data, HTTPURLResponse) {
            let login = try JSONDecoder().decode(LoginRequest.self, from: request.httpBody ?? Data())
            guard login.identifier == user.email, login.password == "correct horse" else {
                return try refuse(request, .invalidCredentials)
            }
            hasEnded = false
            return try answer(request, 200, session())
        }

        private func reauthenticate(_ request: URLRequest) throws -> (Data, HTTPURLResponse) {
            let proof = try JSONDecoder().decode(ReauthenticateRequest.self, from: request.httpBody ?? Data())
            guard proof.password == "correct horse" else { return try refuse(request, .invalidCredentials) }
            requiresReauthentication = false
            return try answer(request, 204)
        }

        private func session() -> AuthResponse {
            let (hour, month) = (3600, 30 * 24 * 3600)
            return AuthResponse(
                accessToken: "stub-access", refreshToken: "stub-refresh", expiresIn: hour,
                expiresAt: Date(timeIntervalSinceNow: Double(hour)), refreshExpiresIn: month,
                refreshExpiresAt: Date(timeIntervalSinceNow: Double(month)), user: user)
        }

        private var thisDevice: SessionInfo {
            SessionInfo(
                id: user.id, current: true, createdAt: user.createdAt, lastUsedAt: Date(),
                expiresAt: Date(timeIntervalSinceNow: 3600), device: SessionDevice(name: "Ada's phone"))
        }

        private func refuse(_ request: URLRequest, _ code: ErrorCode) throws -> (Data, HTTPURLResponse) {
            try answer(request, code.status, ProblemDocument(Problem(code), requestID: "stub"))
        }

        private func answer(_ request: URLRequest, _ status: Int) throws -> (Data, HTTPURLResponse) {
            try respond(request, status, Data())
        }

        private func answer(
            _ request: URLRequest, _ status: Int, _ body: some Encodable
        ) throws -> (Data, HTTPURLResponse) {
            let encoder = JSONEncoder()
            encoder.dateEncodingStrategy = .iso8601
            return try respond(request, status, encoder.encode(body))
        }

        private func respond(
            _ request: URLRequest, _ status: Int, _ body: Data
        ) throws -> (Data, HTTPURLResponse) {
            let type = status < 300 ? "application/json" : "application/problem+json"
            guard let url = request.url,
                let response = HTTPURLResponse(
                    url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: ["Content-Type": type])
            else { throw URLError(.badURL) }
            return (body, response)
        }
    }
#endif
