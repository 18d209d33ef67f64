import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

extension SystemTests {
    /// The example services, each behind the real gateway.
    @Suite struct OwnServices {
        private struct Item: Decodable {
            var id: Int
            var of: String
            var role: String
            var stores: [String]
        }

        /// An example that runs, and the gateway in front of it.
        private struct Running {
            var path: String
            var gateway: TestHTTPClient
            var service: TestHTTPClient
            var serviceURL: URL
            var credentials: [String]
        }

        let system = GatehouseSystem.current

        private func run(_ example: OwnService, _ body: (Running) async throws -> Void) async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "service-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let port = try freePort()
            let file = folder.appending(path: "routes.yaml")
            try example.routesFile(port: port).write(to: file, atomically: true, encoding: .utf8)
            let credentials = ["dev-\(UUID().uuidString)", "dev-\(UUID().uuidString)"]
            let output = folder.appending(path: "output.log")
            let process = try example.start(port: port, credentials: credentials, output: output)
            let serviceURL = URL(string: "http://127.0.0.1:\(port)")!
            let service = TestHTTPClient(serviceURL)
            do {
                try await eventually("the example listens") {
                    guard process.isRunning else { throw TestKitError(try String(contentsOf: output, encoding: .utf8)) }
                    return (try? await service.get("/v1/\(example.name)/7")) != nil
                }
                let settings = example.gatewaySettings(routesFile: file, credential: credentials[0])
                try await system.withGateway(settings: settings) { gateway in
                    try await gateway.start()
                    try await body(
                        Running(
                            path: "/v1/\(example.name)", gateway: TestHTTPClient(gateway.url), service: service,
                            serviceURL: serviceURL, credentials: credentials))
                }
            } catch {
                await process.kill9()
                throw error
            }
            await process.kill9()
        }

        private func fields(of user: UUID, credential: String?) -> [String: String] {
            var fields = [
                HeaderName.userID: user.uuidString.lowercased(), HeaderName.sessionID: UUID().uuidString,
                HeaderName.role: "admin", HeaderName.storeIDs: "store-1,store%202", HeaderName.internalRequestID: "r-1",
            ]
            fields[HeaderName.credential] = credential
            return fields
        }

        @Test(arguments: OwnService.allCases)
        func theGatewayAloneNamesTheUser(example: OwnService) async throws {
            let session = try await system.journey.register()
            try await run(example) { running in
                let forged = [
                    HeaderName.userID: UUID().uuidString, "Gatehouse_Role": "admin", "GATEHOUSE-STORE-IDS": "all",
                    HeaderName.credential: running.credentials[1], "Authorization": "Bearer \(session.accessToken)",
                ]
                let answer = try await running.gateway.get("\(running.path)/7", headers: forged)
                #expect(answer.status == 200, "\(answer.text)")
                let item = try answer.decode(Item.self)
                #expect(item.id == 7 && item.of == session.user.id.uuidString.lowercased())
                #expect(item.role == session.user.role && item.stores == session.user.storeIds)
                #expect(try await running.gateway.get("\(running.path)/7").code == "INVALID_TOKEN")

                let elsewhere = try await running.gateway.get(
                    "\(running.path)/8",
                    headers: ["Authorization": "Bearer \(session.accessToken)", "X-Request-Id": "own-1"])
                #expect(elsewhere.status == 404 && elsewhere.code == "NOT_FOUND")
                #expect(try elsewhere.problem().requestId == "own-1")
            }
        }

        @Test(arguments: OwnService.allCases)
        func aCallerWithoutTheCredentialIsRefused(example: OwnService) async throws {
            try await run(example) { running in
                let user = UUID()
                for credential in [nil, "", "dev-wrong", running.credentials[0] + "x"] {
                    let answer = try await running.service.get(
                        "\(running.path)/7", headers: fields(of: user, credential: credential))
                    #expect(answer.status == 401 && answer.code == "INVALID_TOKEN", "\(credential ?? "-")")
                    #expect(answer.header("WWW-Authenticate")?.hasPrefix("Bearer") == true)
                }
                // One is being replaced.
                for credential in running.credentials {
                    let answer = try await running.service.get(
                        "\(running.path)/7", headers: fields(of: user, credential: credential))
                    #expect(answer.status == 200, "\(answer.text)")
                    #expect(try answer.decode(Item.self).of == user.uuidString.lowercased())
                    #expect(try answer.decode(Item.self).stores == ["store-1", "store 2"])
                }
                // The gateway says that no user is signed in.
                var anonymous = fields(of: user, credential: running.credentials[0])
                anonymous[HeaderName.userID] = nil
                #expect(try await running.service.get("\(running.path)/7", headers: anonymous).status == 401)
            }
        }

        /// The gateway sends on a body that comes with a GET, over a connection that other users' requests follow on.
        @Test(arguments: OwnService.allCases)
        func aBodyIsNotReadAsTheNextRequest(example: OwnService) async throws {
            try await run(example) { running in
                let known = fields(of: UUID(), credential: running.credentials[0]).map { "\($0): \($1)\r\n" }.joined()
                let body = "GET \(running.path)/7 HTTP/1.1\r\nHost: a\r\n\r\n"
                let (answer, isClosed) = try await rawExchange(
                    running.serviceURL,
                    [
                        "GET \(running.path)/7 HTTP/1.1\r\nHost: a\r\n\(known)Content-Length: \(body.utf8.count)\r\n\r\n"
                            + body,
                        "GET \(running.path)/8 HTTP/1.1\r\nHost: a\r\n\(known)Connection: close\r\n\r\n",
                    ])
                #expect(answer.hasPrefix("HTTP/1.1 200"), "\(answer)")
                // What came in the body shows no credential.
                #expect(!answer.contains("HTTP/1.1 401"), "\(answer)")
                #expect(isClosed)
            }
        }

        @Test(arguments: OwnService.allCases)
        func aRequestPastItsDeadlineIsNotHandled(example: OwnService) async throws {
            try await run(example) { running in
                var late = fields(of: UUID(), credential: running.credentials[0])
                late[HeaderName.deadline] = "0"
                let answer = try await running.service.get("\(running.path)/7", headers: late)
                let problem = try answer.problem()
                #expect(answer.status == 503 && problem.code == "UNAVAILABLE" && problem.requestId == "r-1")
                #expect(answer.header("Retry-After") == "1")
            }
        }
    }
}
