import AccessToken
import Contracts
import Foundation

/// An access token that was found genuine, and what its requests carry to the services behind.
final class VerifiedToken: Sendable {
    let sessionID: UUID
    let role: String
    /// Seconds since 1970.
    let expiresAt: Int64
    /// The key set that vouched for it.
    let generation: Int
    /// The lines that tell services who asks, ready to be written.
    let identityLines: [UInt8]

    init(_ claims: AccessTokenClaims, generation: Int) {
        sessionID = claims.sessionID
        role = claims.role
        expiresAt = claims.expiresAt
        self.generation = generation
        let stores = claims.storeIDs.map { percentEncoded($0, keeping: Self.plain) }.joined(separator: ",")
        identityLines = Array(
            """
            \(HeaderName.userID): \(claims.subject.uuidString.lowercased())\r
            \(HeaderName.sessionID): \(claims.sessionID.uuidString.lowercased())\r
            \(HeaderName.role): \(percentEncoded(claims.role, keeping: Self.visible))\r
            \(HeaderName.storeIDs): \(stores)\r

            """.utf8)
    }

    private static let plain = ByteSet(.alphanumeric, "-._~")
    private static let visible = ByteSet(.visible, "")
}

/// `text` with every byte escaped that is not one of `kept`.
private func percentEncoded(_ text: String, keeping kept: ByteSet) -> String {
    var result = ""
    for byte in text.utf8 {
        if kept.contains(byte) {
            result.unicodeScalars.append(Unicode.Scalar(byte))
        } else {
            result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
    }
    return result
}
