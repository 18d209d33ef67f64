#if DEBUG
    import Foundation
    import GatehouseClient
    import GatehouseContracts

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// A simulated server for demo builds. It accepts every sign-in and stores nothing. It exists only in
    /// debug builds.
    struct DemoTransport: GatehouseTransport {
        let user: GatehouseClient.User

        func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
            switch (request.httpMethod, request.url?.path) {
            case (_, "/v1/auth/login"), (_, "/v1/auth/register"), (_, "/v1/auth/apple"), (_, "/v1/auth/refresh"),
                (_, "/v1/auth/code/verify"):
                try answer(200, to: request, ClientJSON.encode(response()))
            case (_, "/v1/auth/code"):
                try answer(
                    202, to: request,
                    ClientJSON.encode(CodeResponse(codeRequest: "demo", expiresIn: 600, resendAfter: 30)))
            case ("GET", "/v1/auth/sessions"):
                try answer(200, to: request, ClientJSON.encode(SessionList(sessions: [session])))
            case (_, "/v1/auth/me"): try answer(200, to: request, ClientJSON.encode(user))
            case (_, "/v1/auth/logout"), (_, "/v1/auth/logout-all"): try answer(204, to: request)
            case (_, "/v1/auth/password/forgot"), ("DELETE", "/v1/auth/account"): try answer(202, to: request)
            default:
                try answer(
                    404, to: request, ClientJSON.encode(ProblemDocument(Problem(.notFound), requestID: "demo")))
            }
        }

        private var session: SessionInfo {
            SessionInfo(
                id: user.id, current: true, createdAt: user.createdAt, lastUsedAt: Date(),
                expiresAt: Date(timeIntervalSinceNow: 3600), device: SessionDevice(name: "Demo"))
        }

        private func response() -> AuthResponse {
            let (hour, month) = (3600, 30 * 24 * 3600)
            return AuthResponse(
                accessToken: "demo", refreshToken: "demo", expiresIn: hour,
                expiresAt: Date(timeIntervalSinceNow: Double(hour)),
                refreshExpiresIn: month, refreshExpiresAt: Date(timeIntervalSinceNow: Double(month)), user: user)
        }

        private func answer(
            _ status: Int, to request: URLRequest, _ body: Data = Data()
        ) throws -> (Data, HTTPURLResponse) {
            guard let url = request.url,
                let response = HTTPURLResponse(
                    url: url, statusCode: status, httpVersion: "HTTP/1.1",
                    headerFields: ["Content-Type": status < 300 ? "application/json" : "application/problem+json"])
            else { throw URLError(.badURL) }
            return (body, response)
        }
    }
#endif
