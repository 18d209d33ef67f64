import AccessToken
import Bytes
import Contracts
import Foundation

/// An access token that was found genuine, and what its requests carry to the services behind.
final class VerifiedToken: Sendable {
    /// What a route may have its service told, of the claims that the token has.
    private struct Told: Sendable {
        var email: String?
        var isEmailVerified: Bool
        var clientID: String?
        var tokenID: String?
        var issuedAt: Int64
        var expiresAt: Int64
    }

    /// From this second (since 1970) on it is refused: its `exp`, and the leeway.
    let expiresAt: Int64
    /// Whose key vouched for it: the place in `KeyStore.issuers`, where Gatehouse itself is the first.
    let issuerPlace: Int
    /// The issuer's keys that vouched for it.
    let generation: Int
    let issuer: String
    let userKey: UserKey
    /// The session of Gatehouse's own that ends the token with it.
    let ownSession: UUID?
    /// Any of these opens a route that asks for it.
    let roles: [VerbatimString]
    /// The field lines that tell a service who the user is, ready to be written.
    let identityLines: [UInt8]
    private let told: Told

    /// A token of Gatehouse's own, or of an issuer that is trusted as Gatehouse is.
    ///
    /// - Parameter leeway: seconds.
    init(_ claims: AccessTokenClaims, issuerPlace: Int = 0, generation: Int, leeway: Int64 = 0) {
        self.issuerPlace = issuerPlace
        self.generation = generation
        expiresAt = claims.expiresAt + leeway
        issuer = claims.issuer
        userKey = UserKey(id: claims.subject, issuerPlace: issuerPlace)
        ownSession = issuerPlace == 0 ? claims.sessionID : nil
        roles = [VerbatimString(claims.role)]
        told = Told(
            email: claims.email, isEmailVerified: claims.isEmailVerified, clientID: claims.clientID,
            tokenID: claims.tokenID.uuidString.lowercased(), issuedAt: claims.issuedAt, expiresAt: claims.expiresAt)
        var lines: [UInt8] = []
        lines.reserveCapacity(256)
        lines.appendLine(HeaderName.userID) { $0.append(claims.subject) }
        lines.appendLine(HeaderName.sessionID) { $0.append(claims.sessionID) }
        lines.appendLine(HeaderName.role) { $0.append(claims.role, keeping: Self.visible) }
        lines.appendLine(HeaderName.storeIDs) { $0.append(claims.storeIDs) }
        // Its user is none of Gatehouse's: whoever is told of it has to know.
        if issuerPlace != 0 { lines.appendIssuer(claims.issuer) }
        identityLines = lines
    }

    /// A token of an issuer whose users are not Gatehouse's: its user goes to the service in fields of their own.
    ///
    /// - Parameters:
    ///   - roleNames: what routes call the issuer's roles.
    ///   - leeway: seconds.
    init(
        external claims: ExternalTokenClaims, roleNames: [VerbatimString: VerbatimString], issuerPlace: Int,
        generation: Int, leeway: Int64 = 0
    ) {
        self.issuerPlace = issuerPlace
        self.generation = generation
        expiresAt = claims.expiresAt + leeway
        issuer = claims.issuer
        userKey = UserKey(name: claims.subject, issuerPlace: issuerPlace)
        ownSession = nil
        roles = claims.roles.compactMap { roleNames[VerbatimString($0)] }
        told = Told(
            email: claims.email, isEmailVerified: claims.isEmailVerified, clientID: claims.clientID,
            tokenID: claims.tokenID, issuedAt: claims.issuedAt, expiresAt: claims.expiresAt)
        var lines: [UInt8] = []
        lines.appendLine(HeaderName.externalIssuer) { $0.append(claims.issuer, keeping: Self.unescaped) }
        lines.appendLine(HeaderName.externalSubject) { $0.append(claims.subject, keeping: Self.unescaped) }
        if !claims.roles.isEmpty { lines.appendLine(HeaderName.externalRoles) { $0.append(claims.roles) } }
        lines.appendIssuer(claims.issuer)
        identityLines = lines
    }

    /// Whether another issuer than Gatehouse vouches for it.
    var isForeign: Bool { issuerPlace != 0 }

    func hasRole(of wanted: Set<VerbatimString>) -> Bool { roles.contains { wanted.contains($0) } }

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
        case .email: told.email
        case .emailVerified: told.email.map { _ in told.isEmailVerified ? "true" : "false" }
        case .clientID: told.clientID
        case .tokenID: told.tokenID
        case .issuer: issuer
        case .issuedAt: String(told.issuedAt)
        case .expiresAt: String(told.expiresAt)
        }
    }

    fileprivate static let plain = ByteSet(.alphanumeric, "-._~")
    private static let visible = ByteSet(.visible, "")
    /// What needs no escape where `%` begins one.
    fileprivate static let unescaped = ByteSet(.alphanumeric, "!#$&'()*+,-./:;=?@[]^_`{|}~")
}

extension [UInt8] {
    fileprivate mutating func appendLine(_ name: String, _ value: (inout [UInt8]) -> Void) {
        self += name.utf8
        self += ": ".utf8
        value(&self)
        self += "\r\n".utf8
    }

    fileprivate mutating func appendIssuer(_ issuer: String) {
        appendLine(ForwardedClaim.issuer.field) { $0.append(issuer, keeping: VerifiedToken.unescaped) }
    }

    /// A list, with commas between.
    fileprivate mutating func append(_ texts: [String]) {
        for (index, text) in texts.enumerated() {
            if index > 0 { append(UInt8(ascii: ",")) }
            append(text, keeping: VerifiedToken.plain)
        }
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
