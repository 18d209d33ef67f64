package import AccessToken
package import AsyncHTTPClient
package import Foundation
import NIOCore
import ServiceKit

/// The keys that an issuer publishes as a JWKS (RFC 7517 §5), at any of several addresses.
package struct PublishedKeys: Sendable {
    /// Bytes of a JWKS at most.
    static let maximumBytes = 1 << 20

    private let addresses: [URL]
    private let client: HTTPClient
    /// For the whole response: a publisher that stalls in the middle of it must not keep the next fetch waiting.
    private let timeout: Duration

    struct NoAddress: Error {}

    struct UnexpectedStatus: Error {
        var status: Int
    }

    /// - Parameters:
    ///   - addresses: any of them is asked.
    ///   - timeout: for the whole response.
    package init(addresses: [URL], client: HTTPClient, timeout: Duration = .seconds(5)) {
        self.addresses = addresses
        self.client = client
        self.timeout = timeout
    }

    /// - Throws: also for an answer that is no JWKS, or has more than 1 MiB.
    package func read() async throws -> VerificationKeySet {
        guard let address = addresses.randomElement() else { throw NoAddress() }
        let response = try await client.exchange(
            HTTPClientRequest(url: address.absoluteString), upTo: Self.maximumBytes, before: .after(timeout))
        guard response.status == 200 else { throw UnexpectedStatus(status: response.status) }
        return try VerificationKeySet(jwks: Array(response.body.readableBytesView))
    }
}
