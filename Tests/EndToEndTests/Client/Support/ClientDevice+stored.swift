import Foundation
import GatehouseAccessTokens
import GatehouseBytes
import TestKit
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension ClientDevice {
    /// What the next launch will find.
    var stored: StoredState {
        get async throws { try StoredState(data: try #require(await store.data)) }
    }

    /// Of the user who is signed in.
    var userID: UUID {
        get async throws { try await #require(stored.session?.user.id) }
    }

    /// Puts an access token into the store that expired an hour ago and is taken for a good one by the device.
    func storeExpiredToken(system: GatehouseSystem = .current) async throws {
        var state = try await stored
        var session = try #require(state.session)
        session.accessToken = Redacted(try Self.expired(session.accessToken.value, system: system))
        session.accessExpiresAt = Date(timeIntervalSinceNow: 3600)
        state.session = session
        await store.replace(try state.data())
    }

    /// The same token with another expiry, signed as the service signs.
    private static func expired(_ token: String, system: GatehouseSystem) throws -> String {
        struct Claims: Decodable {
            var iss: String
            var aud: String
            var sub: UUID
            var sid: UUID
            var client_id: String
            var role: String
        }
        let payload = try #require(Base64URL.decode(token.split(separator: ".")[1]))
        let claims = try JSONDecoder().decode(Claims.self, from: Data(payload))
        let pem = try String(contentsOfFile: system.signingKeyFile, encoding: .utf8)
        let now = Int64(Date().timeIntervalSince1970)
        return try AccessTokenSigner(key: RSAPrivateKey(pem: pem)).sign(
            AccessTokenClaims(
                issuer: claims.iss, audience: claims.aud, subject: claims.sub, sessionID: claims.sid,
                issuedAt: now - 7200, expiresAt: now - 3600, clientID: claims.client_id, role: claims.role))
    }
}

extension StoredState {
    /// Neither a session nor one whose end the server is still to be told. By what the device is known stays.
    var holdsNoSession: Bool { session == nil && pendingLogouts.isEmpty }
}

extension GatehouseClient {
    /// A request of the app's own that only a signed-in user's bearer opens.
    func getProfile() async throws -> Int {
        let url = configuration.baseURL.appendingPathComponent("/v1/auth/me")
        return try await data(for: URLRequest(url: url)).1.statusCode
    }
}

extension GatehouseSession {
    /// A refresh, as after a request that was refused.
    func renewOnce() async throws { _ = try await accessToken(after: accessToken()) }
}
