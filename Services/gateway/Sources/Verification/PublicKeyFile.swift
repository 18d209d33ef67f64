import AccessToken
import Foundation
import ServiceKit

/// A file of public keys (PEM) that access tokens are verified with, instead of those that tokens publishes.
struct PublicKeyFile: Sendable {
    let path: String
    /// Whether keys with the mark of development will do.
    let allowsDevelopment: Bool

    /// - Throws: `AccessTokenError`, also for keys that were made for development where they will not do; `CocoaError`.
    func read() throws -> VerificationKeySet {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        guard allowsDevelopment || !DevelopmentSecret.isMarked(file: text) else {
            throw AccessTokenError(.unreadableKey, "The keys were made for development.")
        }
        return try VerificationKeySet(pem: text)
    }
}
