import AccessToken
import Bytes
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceKit

/// The public keys (RFC 7517) and the metadata of the authorization server (RFC 8414).
struct WellKnownRoutes: Sendable {
    private let keys: SigningKeyStore
    private let metadata: Document

    /// Seconds for which clients may cache either document. A new key is published for longer before it signs.
    static let maximumAge = 300

    init(issuer: String, keys: SigningKeyStore) throws {
        self.keys = keys
        self.metadata = Document(Array(try JSONEncoder.sorted.encode(AuthorizationServerMetadata(issuer: issuer))))
    }

    func add(to router: ServiceRouter) {
        router.getOrHead("/.well-known/jwks.json") { [keys] request, _ in
            // Created for each request, because a gateway requests it only every few minutes.
            Document(keys.published.jwks()).response(to: request)
        }
        router.getOrHead("/.well-known/oauth-authorization-server") { [metadata] request, _ in
            metadata.response(to: request)
        }
    }

    private struct Document: Sendable {
        let body: [UInt8]
        let entityTag: String

        init(_ body: [UInt8]) {
            self.body = body
            entityTag = "\"\(Base64URL.string(Array(SHA256.hash(data: body).prefix(16))))\""
        }

        func response(to request: Request) -> Response {
            let headers: HTTPFields = [
                .contentType: "application/json", .cacheControl: "public, max-age=\(maximumAge)", .eTag: entityTag,
            ]
            let known = request.headers[values: .ifNoneMatch].flatMap { $0.split(separator: ",") }
            if known.contains(where: { isSame($0.trimmingCharacters(in: .whitespaces)) }) {
                return Response(status: .notModified, headers: headers)
            }
            return Response(
                status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
        }

        /// RFC 9110 §13.1.2: the comparison is weak.
        private func isSame(_ tag: String) -> Bool {
            tag == "*" || tag == entityTag || tag == "W/" + entityTag
        }
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
