import AccessToken
import Contracts
import Foundation

/// An access token that was found genuine, and what its requests carry to the services behind.
final class VerifiedToken: Sendable {
    let userID: UUID
    let sessionID: UUID
    let role: String
    /// From this second (since 1970) on it is refused: its `exp`, and the leeway.
    let expiresAt: Int64
    /// The key set that vouched for it.
    let generation: Int
    /// The lines that tell services who asks, ready to be written.
    let identityLines: [UInt8]

    /// - Parameter leeway: seconds.
    init(_ claims: AccessTokenClaims, generation: Int, leeway: Int64 = 0) {
        userID = claims.subject
        sessionID = claims.sessionID
        role = claims.role
        expiresAt = claims.expiresAt + leeway
        self.generation = generation
        let stores = claims.storeIDs.map { percentEncoded($0, keeping: Self.plain) }.joined(separator: ",")
        var lines: [UInt8] = []
        lines.reserveCapacity(256)
        lines.appendLine(HeaderName.userID) { $0.append(claims.subject) }
        lines.appendLine(HeaderName.sessionID) { $0.append(claims.sessionID) }
        lines.appendLine(HeaderName.role) { $0 += percentEncoded(claims.role, keeping: Self.visible).utf8 }
        lines.appendLine(HeaderName.storeIDs) { $0 += stores.utf8 }
        identityLines = lines
    }

    private static let plain = ByteSet(.alphanumeric, "-._~")
    private static let visible = ByteSet(.visible, "")
}

extension [UInt8] {
    fileprivate mutating func appendLine(_ name: String, _ value: (inout [UInt8]) -> Void) {
        self += name.utf8
        self += ": ".utf8
        value(&self)
        self += "\r\n".utf8
    }

    /// In lower case. `uuidString` formats as C's `printf` does, which a new token would pay for twice.
    fileprivate mutating func append(_ uuid: UUID) {
        Swift.withUnsafeBytes(of: uuid.uuid) { bytes in
            for (index, byte) in bytes.enumerated() {
                if index == 4 || index == 6 || index == 8 || index == 10 { append(UInt8(ascii: "-")) }
                append(Self.digits[Int(byte >> 4)])
                append(Self.digits[Int(byte & 15)])
            }
        }
    }

    private static let digits = Array("0123456789abcdef".utf8)
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
