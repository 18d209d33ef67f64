import AccessToken
import AsyncHTTPClient
import Foundation
import NIOCore
import ServiceKit

/// The keys that an issuer publishes as a JWKS (RFC 7517 §5), at any of several addresses.
struct PublishedKeys: Sendable {
    /// Bytes of a JWKS at most.
    static let maximumBytes = 1 << 20

    let addresses: [URL]
    let client: HTTPClient
    /// For the whole response: a publisher that stalls in the middle of it must not keep the next fetch waiting.
    var timeout = Duration.seconds(5)

    struct NoAddress: Error {}

    struct UnexpectedStatus: Error {
        var status: Int
    }

    func read() async throws -> VerificationKeySet {
        guard let address = addresses.randomElement() else { throw NoAddress() }
        let response = try await client.exchange(
            HTTPClientRequest(url: address.absoluteString), upTo: Self.maximumBytes, before: .after(timeout))
        guard response.status == 200 else { throw UnexpectedStatus(status: response.status) }
        return try VerificationKeySet(jwks: Array(response.body.readableBytesView))
    }
}
