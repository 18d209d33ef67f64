import Crypto
import Foundation
import GatehouseAccessTokens
import GatehouseBytes
import GatehouseServiceKit
import HTTPTypes
import Hummingbird

/// The public keys (RFC 7517) and the metadata of the authorization server (RFC 8414).
struct WellKnownRoutes: Sendable {
    private let keys: SigningKeySource
    private let metadata: TaggedDocument

    /// Seconds for which clients may cache either document. A new key is published for longer before it signs.
    static let maximumAge = 300

    init(issuer: String, keys: SigningKeySource) throws {
        self.keys = keys
        metadata = Self.document(Array(try JSONEncoder.sorted.encode(AuthorizationServerMetadata(issuer: issuer))))
    }

    func add(to router: ServiceRouter) {
        router.getOrHead("/.well-known/jwks.json") { [keys] request, _ in
            // Created for each request, because a gateway requests it only every few minutes.
            Self.document(keys.published.jwks()).response(to: request)
        }
        router.getOrHead("/.well-known/oauth-authorization-server") { [metadata] request, _ in
            metadata.response(to: request)
        }
    }

    private static func document(_ body: [UInt8]) -> TaggedDocument {
        TaggedDocument(
            body, tag: Base64URL.string(Array(SHA256.hash(data: body).prefix(16))),
            fields: [.contentType: "application/json", .cacheControl: "public, max-age=\(maximumAge)"])
    }
}

/// RFC 8414 §2.
private struct AuthorizationServerMetadata: Encodable {
    let issuer: String
    let tokenEndpoint: String
    let revocationEndpoint: String
    let keySetAddress: String
    /// Without an authorization endpoint no response type exists. But the member is required and must not be empty (§2,
    /// §3.2).
    let responseTypes = ["none"]
    let grantTypes = ["refresh_token"]
    let tokenEndpointAuthenticationMethods = ["none"]
    let revocationEndpointAuthenticationMethods = ["none"]

    init(issuer: String) {
        let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
        self.issuer = issuer
        tokenEndpoint = base + "/oauth/token"
        revocationEndpoint = base + "/oauth/revoke"
        keySetAddress = base + "/.well-known/jwks.json"
    }

    enum CodingKeys: String, CodingKey {
        case issuer
        case tokenEndpoint = "token_endpoint"
        case revocationEndpoint = "revocation_endpoint"
        case keySetAddress = "jwks_uri"
        case responseTypes = "response_types_supported"
        case grantTypes = "grant_types_supported"
        case tokenEndpointAuthenticationMethods = "token_endpoint_auth_methods_supported"
        case revocationEndpointAuthenticationMethods = "revocation_endpoint_auth_methods_supported"
    }
}

extension JSONEncoder {
    fileprivate static var sorted: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
