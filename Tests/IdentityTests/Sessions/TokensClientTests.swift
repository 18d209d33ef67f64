import AsyncHTTPClient
import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import HTTPTypes
import Hummingbird
import NIOCore
import TestKit
import Testing

@testable import IdentityCore

@Suite struct TokensClientTests {
    /// At a wrong address, or in a tokens service that is older than the route, nothing has been done.
    @Test func aRouteThatIsNotThereHasDoneNothing() async throws {
        let problem = try JSON.encode(ProblemDocument(Problem(.notFound), requestID: "r"))
        let notFound: @Sendable (Request, BasicRequestContext) -> Response = { _, _ in
            Response(
                status: .notFound, headers: [.contentType: "application/problem+json"],
                body: .init(byteBuffer: ByteBuffer(bytes: problem)))
        }
        let router = Router()
        router.delete("internal/sessions/{id}", use: notFound)
        router.post("internal/users/{id}/revoke", use: notFound)
        router.put("internal/users/{id}/snapshot", use: notFound)
        try await withHTTPServer(router) { url in
            let tokens = TokensClient(
                client: ServiceClient(
                    callee: "tokens", urls: [url], credential: "dev-identity-tokens", httpClient: .shared))
            let user = User(
                id: UUID(), emailVerified: false, role: "user", storeIds: [], authProviders: [.password],
                createdAt: .now)
            await #expect(throws: ServiceClientError.self) { try await tokens.revokeUnused(session: UUID()) }
            await #expect(throws: ServiceClientError.self) {
                try await tokens.revokeSessions(of: user.id, RevokeSessionsRequest(reason: .logout))
            }
            await #expect(throws: ServiceClientError.self) {
                try await tokens.put(UserSnapshot(user: user, version: 1))
            }
        }
    }
}
