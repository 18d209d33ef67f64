import Foundation
import GatehouseAccessTokens
import GatehouseBytes
import GatehouseServiceContracts

extension AccessTokenClaims {
    /// The field lines that identify the user to a service.
    ///
    /// - Parameter isForeign: whether another issuer than Gatehouse issued the token.
    func identityLines(isForeign: Bool) -> [UInt8] {
        var lines: [UInt8] = []
        lines.reserveCapacity(320)
        lines.appendLine(HeaderName.userID) { $0.append(subject) }
        lines.appendLine(HeaderName.sessionID) { $0.append(sessionID) }
        lines.appendLine(HeaderName.role) { $0.append(role, keeping: .visible) }
        lines.appendLine(HeaderName.storeIDs) { $0.append(storeIDs) }
        if let authenticationTime {
            lines.appendLine(HeaderName.authenticationTime) { $0 += String(authenticationTime).utf8 }
        }
        if !authenticationMethods.isEmpty {
            lines.appendLine(HeaderName.authenticationMethods) { $0.append(authenticationMethods) }
        }
        // The user is not Gatehouse's, so the service needs the issuer too.
        if isForeign { lines.appendIssuer(issuer) }
        return lines
    }
}

extension ExternalTokenClaims {
    /// The field lines that identify the user to a service.
    var identityLines: [UInt8] {
        var lines: [UInt8] = []
        lines.appendLine(HeaderName.externalIssuer) { $0.append(issuer, keeping: .unescaped) }
        lines.appendLine(HeaderName.externalSubject) { $0.append(subject, keeping: .unescaped) }
        if !roles.isEmpty { lines.appendLine(HeaderName.externalRoles) { $0.append(roles) } }
        lines.appendIssuer(issuer)
        return lines
    }
}

extension VerifiedToken {
    /// The lines for the forwarded claims that the token has. `email` is always accompanied by `email_verified`,
    /// because a user can enter any address.
    func lines(of forwarded: [ForwardedClaim]) -> [UInt8] {
        var lines: [UInt8] = []
        var claims = forwarded.filter { $0 != .emailVerified }
        if claims.count < forwarded.count || claims.contains(.email) { claims.append(.emailVerified) }
        for claim in claims {
            guard !(claim == .issuer && isForeign), let value = value(of: claim) else { continue }
            lines.appendLine(claim.field) { $0.append(value, keeping: .unescaped) }
        }
        return lines
    }
}

extension ForwardedClaim {
    /// The field that carries the claim.
    fileprivate var field: String {
        switch self {
        case .email: HeaderName.claimEmail
        case .emailVerified: HeaderName.claimEmailVerified
        case .clientID: HeaderName.claimClientID
        case .tokenID: HeaderName.claimTokenID
        case .issuer: HeaderName.claimIssuer
        case .issuedAt: HeaderName.claimIssuedAt
        case .expiresAt: HeaderName.claimExpiresAt
        }
    }
}

extension ByteSet {
    fileprivate static let plain = ByteSet(.alphanumeric, "-._~")
    fileprivate static let visible = ByteSet(.visible, "")
    /// Bytes that need no escape where `%` begins one.
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
        appendLine(ForwardedClaim.issuer.field) { $0.append(issuer, keeping: .unescaped) }
    }

    /// Appends a list, separated by commas.
    fileprivate mutating func append(_ texts: [String]) {
        for (index, text) in texts.enumerated() {
            if index > 0 { append(UInt8(ascii: ",")) }
            append(text, keeping: .plain)
        }
    }

    /// In lower case. `uuidString` formats like C's `printf`, and each new token would pay for it twice.
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

    /// Appends `text` with every byte escaped that is not one of `kept`.
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
