import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseSettings
import Hummingbird
import HummingbirdCore
import TestKit
import Testing

@Suite("What the gateway tells besides the user")
struct ForwardedIdentityTests {
    private struct Told: Codable, Equatable {
        var user: UUID?
        var issuer: String?
        var subject: String?
        var roles: [String]?
        var email: String?
        var isEmailVerified: Bool?
        var claimedIssuer: String?
        var expiresAt: Date?
    }

    private enum Teller: ServiceApplication {
        static let name = "teller"
        static let defaultPort = 8099

        static func configuration(from settings: Settings) -> CallerCredentials {
            settings.credentials(ofCallers: "gateway", "identity")
        }

        static func build(_ credentials: CallerCredentials, boot: ServiceBoot) async throws -> ServiceAssembly {
            let router = ServiceRouter()
            router.get("/v1/told") { _, context in
                let (external, claims) = (context.externalUser, context.claims)
                return try Response.json(
                    Told(
                        user: context.user?.id, issuer: external?.issuer, subject: external?.subject,
                        roles: external?.roles, email: claims.email, isEmailVerified: claims.isEmailVerified,
                        claimedIssuer: claims.issuer, expiresAt: claims.expiresAt))
            }
            return ServiceAssembly(router: router, credentials: credentials, boot: boot)
        }
    }

    private func told(_ fields: [String: String], credential: String?) async throws -> Told {
        let settings = [
            "TELLER_GATEWAY_CREDENTIALS": "gateway-secret", "TELLER_IDENTITY_CREDENTIALS": "identity-secret",
        ]
        return try await withService(Teller.self, settings: settings) { service in
            var headers = fields
            headers[HeaderName.credential] = credential
            return try await TestHTTPClient(service.url).get("/v1/told", headers: headers).decode()
        }
    }

    private static let external = [
        HeaderName.externalIssuer: "https://partner.test/%25", HeaderName.externalSubject: "ada%20l%C3%B6",
        HeaderName.externalRoles: "a%2Cb,c", HeaderName.claimIssuer: "https://partner.test/%25",
        HeaderName.claimEmail: "ada@example.com", HeaderName.claimEmailVerified: "false",
        HeaderName.claimExpiresAt: "1800000000",
    ]

    @Test("Another issuer's user, and the claims that the route forwards")
    func external() async throws {
        let expected = Told(
            user: nil, issuer: "https://partner.test/%", subject: "ada lö", roles: ["a,b", "c"],
            email: "ada@example.com", isEmailVerified: false, claimedIssuer: "https://partner.test/%",
            expiresAt: Date(timeIntervalSince1970: 1_800_000_000))
        #expect(try await told(Self.external, credential: "gateway-secret") == expected)
    }

    @Test("Gatehouse's own user has no external issuer and subject")
    func own() async throws {
        let user = UUID()
        let fields = Self.external.merging([
            HeaderName.userID: user.uuidString, HeaderName.sessionID: UUID().uuidString,
        ]) { $1 }
        let told = try await told(fields, credential: "gateway-secret")
        #expect(told.user == user && told.issuer == nil && told.subject == nil)
    }

    @Test("Only the gateway is believed", arguments: [nil, "wrong-secret", "identity-secret"])
    func unbelieved(credential: String?) async throws {
        #expect(try await told(Self.external, credential: credential) == Told())
    }
}
