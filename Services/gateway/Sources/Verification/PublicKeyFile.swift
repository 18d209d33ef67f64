import AccessToken
import Foundation
import ServiceKit
import Settings

/// A file of public keys (PEM) that access tokens are verified with, instead of those that tokens publishes.
struct PublicKeyFile: Sendable {
    let path: String
    /// Whether keys with the mark of development will do.
    let allowsDevelopment: Bool

    /// - Throws: also for no key at all, and for keys that were made for development where they will not do.
    func read() throws(AccessTokenError) -> VerificationKeySet {
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw AccessTokenError(.unreadableKey, "The file is not there, or may not be read.")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw AccessTokenError(.unreadableKey, "The file is not text in UTF-8.")
        }
        guard allowsDevelopment || !DevelopmentSecret.isMarked(file: text) else {
            throw AccessTokenError(.unreadableKey, "The keys were made for development.")
        }
        return try VerificationKeySet(pem: text)
    }
}
