import AccessToken
import Contracts
import Foundation

/// An access token that was found genuine, and what its requests carry to the services behind.
final class VerifiedToken: Sendable {
    private let claims: AccessTokenClaims
    /// From this second (since 1970) on it is refused: its `exp`, and the leeway.
    let expiresAt: Int64
    /// Whose key vouched for it: the place in `KeyStore.issuers`, where Gatehouse itself is the first.
    let issuerPlace: Int
    /// The key set that vouched for it.
    let generation: Int
    /// The lines that tell services who asks, ready to be written.
    let identityLines: [UInt8]

    /// - Parameter leeway: seconds.
    init(_ claims: AccessTokenClaims, issuerPlace: Int = 0, generation: Int, leeway: Int64 = 0) {
        self.issuerPlace = issuerPlace
        self.claims = claims
        expiresAt = claims.expiresAt + leeway
        self.generation = generation
        var lines: [UInt8] = []
        lines.reserveCapacity(256)
        lines.appendLine(HeaderName.userID) { $0.append(claims.subject) }
        lines.appendLine(HeaderName.sessionID) { $0.append(claims.sessionID) }
        lines.appendLine(HeaderName.role) { $0.append(claims.role, keeping: Self.visible) }
        lines.appendLine(HeaderName.storeIDs) { line in
            for (index, store) in claims.storeIDs.enumerated() {
                if index > 0 { line.append(UInt8(ascii: ",")) }
                line.append(store, keeping: Self.plain)
            }
        }
        // Its user is none of Gatehouse's: whoever is told of it has to know.
        if issuerPlace != 0 {
            lines.appendLine(ForwardedClaim.issuer.field) { $0.append(claims.issuer, keeping: Self.unescaped) }
        }
        identityLines = lines
    }

    var userKey: UserKey { UserKey(id: claims.subject, issuerPlace: issuerPlace) }
    var sessionID: UUID { claims.sessionID }
    var role: String { claims.role }
    var issuer: String { claims.issuer }
    /// Whether another issuer than Gatehouse vouches for it.
    var isForeign: Bool { issuerPlace != 0 }

    /// The lines that tell a service more, of the claims that the token has. An address that anybody may have typed in
    /// never goes without a word of whether it is proved.
    func lines(of forwarded: [ForwardedClaim]) -> [UInt8] {
        var lines: [UInt8] = []
        var claims = forwarded.filter { $0 != .emailVerified }
        if claims.count < forwarded.count || claims.contains(.email) { claims.append(.emailVerified) }
        for claim in claims {
            guard !(claim == .issuer && isForeign), let value = value(of: claim) else { continue }
            lines.appendLine(claim.field) { $0.append(value, keeping: Self.unescaped) }
        }
        return lines
    }

    private func value(of claim: ForwardedClaim) -> String? {
        switch claim {
        case .email: claims.email
        case .emailVerified: claims.email.map { _ in claims.isEmailVerified ? "true" : "false" }
        case .clientID: claims.clientID
        case .tokenID: claims.tokenID.uuidString.lowercased()
        case .issuer: claims.issuer
        case .issuedAt: String(claims.issuedAt)
        case .expiresAt: String(claims.expiresAt)
        }
    }

    private static let plain = ByteSet(.alphanumeric, "-._~")
    private static let visible = ByteSet(.visible, "")
    /// What needs no escape where `%` begins one.
    private static let unescaped = ByteSet(.alphanumeric, "!#$&'()*+,-./:;=?@[]^_`{|}~")
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

    /// With every byte of `text` escaped that is not one of `kept`.
    fileprivate mutating func append(_ text: String, keeping kept: ByteSet) {
        for byte in text.utf8 {
            if kept.contains(byte) {
                append(byte)
            } else {
                self += "%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))".utf8
            }
        }
    }
}
