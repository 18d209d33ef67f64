import AccessToken
import Bytes
import Crypto
import Foundation

/// A verified access token, and the data about it that is forwarded to upstreams.
final class VerifiedToken: Sendable {
    /// The claims of the token that a route may forward.
    private struct ForwardableClaims: Sendable {
        var email: String?
        var isEmailVerified: Bool
        var clientID: String?
        var tokenID: String?
        var issuedAt: Int64
        var expiresAt: Int64
    }

    /// The second (since 1970) from which the token is refused: its `exp`, and the leeway.
    let expiresAt: Int64
    /// The index in the list of trusted issuers, where Gatehouse itself is the first.
    let issuerIndex: Int
    /// The generation of the issuer's keys that verified the token.
    let generation: Int
    let issuer: String
    let userKey: UserKey
    /// Gatehouse's session of the token. Its end invalidates the token.
    let ownSession: UUID?
    /// The user's roles. One of them has to be among those that a route requires.
    let roles: [VerbatimString]
    /// When the user last authenticated, in seconds since 1970; `nil` where the token does not contain it.
    let authenticationTime: Int64?
    /// The field lines that identify the user to a service.
    let identityLines: [UInt8]
    private let forwardable: ForwardableClaims

    /// A token of Gatehouse's own, or of an issuer that is trusted as Gatehouse is.
    ///
    /// - Parameters:
    ///   - identityLines: the field lines that identify the user to a service.
    ///   - leeway: seconds.
    init(
        _ claims: AccessTokenClaims, identityLines: [UInt8], issuerIndex: Int = 0, generation: Int, leeway: Int64 = 0
    ) {
        self.identityLines = identityLines
        self.issuerIndex = issuerIndex
        self.generation = generation
        expiresAt = claims.expiresAt + leeway
        issuer = claims.issuer
        userKey = UserKey(id: claims.subject, issuerIndex: issuerIndex)
        ownSession = issuerIndex == 0 ? claims.sessionID : nil
        roles = [VerbatimString(claims.role)]
        authenticationTime = claims.authenticationTime
        forwardable = ForwardableClaims(
            email: claims.email, isEmailVerified: claims.isEmailVerified, clientID: claims.clientID,
            tokenID: claims.tokenID.uuidString.lowercased(), issuedAt: claims.issuedAt, expiresAt: claims.expiresAt)
    }

    /// A token of an issuer whose users are not Gatehouse's: separate fields identify its user to the service.
    ///
    /// - Parameters:
    ///   - identityLines: the field lines that identify the user to a service.
    ///   - roleNames: the names that routes use for the issuer's roles.
    ///   - leeway: seconds.
    init(
        external claims: ExternalTokenClaims, identityLines: [UInt8], roleNames: [VerbatimString: VerbatimString],
        issuerIndex: Int, generation: Int, leeway: Int64 = 0
    ) {
        self.identityLines = identityLines
        self.issuerIndex = issuerIndex
        self.generation = generation
        expiresAt = claims.expiresAt + leeway
        issuer = claims.issuer
        userKey = UserKey(name: claims.subject, issuerIndex: issuerIndex)
        ownSession = nil
        roles = claims.roles.compactMap { roleNames[VerbatimString($0)] }
        authenticationTime = claims.authenticationTime
        forwardable = ForwardableClaims(
            email: claims.email, isEmailVerified: claims.isEmailVerified, clientID: claims.clientID,
            tokenID: claims.tokenID, issuedAt: claims.issuedAt, expiresAt: claims.expiresAt)
    }

    /// Whether another issuer than Gatehouse issued the token.
    var isForeign: Bool { issuerIndex != 0 }

    /// Whether the user has authenticated within the given time; `false` if the token does not contain the time. A time
    /// in the future counts as now, because the issuer's clock may be ahead.
    ///
    /// - Parameters:
    ///   - maximumAge: in seconds.
    ///   - now: seconds since 1970.
    func isAuthenticated(within maximumAge: Int, now: Int64) -> Bool {
        authenticationTime.map { now - $0 <= Int64(maximumAge) + Self.authenticationLeeway } ?? false
    }

    /// Seconds of tolerance for the age of an authentication, because clocks differ.
    static let authenticationLeeway: Int64 = 5

    func hasRole(of wanted: Set<VerbatimString>) -> Bool { roles.contains { wanted.contains($0) } }

    /// `nil`: the token does not have the claim.
    func value(of claim: ForwardedClaim) -> String? {
        switch claim {
        case .email: forwardable.email
        case .emailVerified: forwardable.email.map { _ in forwardable.isEmailVerified ? "true" : "false" }
        case .clientID: forwardable.clientID
        case .tokenID: forwardable.tokenID
        case .issuer: issuer
        case .issuedAt: String(forwardable.issuedAt)
        case .expiresAt: String(forwardable.expiresAt)
        }
    }
}

/// A claim that a route can forward to its service, besides the user, session, role and stores.
enum ForwardedClaim: String, Sendable, CaseIterable {
    case email
    /// Always forwarded together with `email`.
    case emailVerified = "email_verified"
    case clientID = "client_id"
    case tokenID = "jti"
    case issuer = "iss"
    case issuedAt = "iat"
    case expiresAt = "exp"
}

/// Recently verified tokens, by their SHA-256 digest. One cache for each event loop.
///
/// A full cache replaces a token that was not used since the hand last passed it (the clock algorithm). It removes one
/// entry at a time, because removing thousands at once would stall every connection of the event loop.
struct TokenCache {
    struct Digest: Hashable {
        fileprivate let words: (UInt64, UInt64, UInt64, UInt64)

        init(_ token: UnsafeRawBufferPointer) {
            var hash = SHA256()
            hash.update(bufferPointer: token)
            words = hash.finalize().withUnsafeBytes {
                $0.loadUnaligned(as: (UInt64, UInt64, UInt64, UInt64).self)
            }
        }

        static func == (one: Digest, other: Digest) -> Bool { one.words == other.words }

        /// A part of a digest is uniformly distributed already, and only verified tokens are entered.
        func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
    }

    private struct Entry {
        let digest: Digest
        let token: VerifiedToken
        var wasUsed = false
    }

    private let capacity: Int
    private var entries: [Entry] = []
    /// The index in `entries` of each token.
    private var indices: [Digest: Int] = [:]
    private var hand = 0

    init(capacity: Int) { self.capacity = max(1, capacity) }

    /// The token of the digest, if it has not expired and is current: the keys that verified it are in force.
    mutating func token(_ digest: Digest, now: Int64, isCurrent: (VerifiedToken) -> Bool) -> VerifiedToken? {
        guard let index = indices[digest] else { return nil }
        let token = entries[index].token
        guard now < token.expiresAt, isCurrent(token) else { return nil }
        entries[index].wasUsed = true
        return token
    }

    mutating func insert(_ token: VerifiedToken, as digest: Digest) {
        let entry = Entry(digest: digest, token: token)
        if let index = indices[digest] {
            entries[index] = entry
        } else if entries.count < capacity {
            indices[digest] = entries.count
            entries.append(entry)
        } else {
            while entries[hand].wasUsed {
                entries[hand].wasUsed = false
                moveHand()
            }
            indices[entries[hand].digest] = nil
            indices[digest] = hand
            entries[hand] = entry
            moveHand()
        }
    }

    private mutating func moveHand() { hand = hand + 1 == entries.count ? 0 : hand + 1 }

    var count: Int { entries.count }
}

/// An issuer whose access tokens the gateway accepts.
struct TrustedIssuer: Sendable, Equatable {
    enum Standing: Sendable, Equatable {
        /// Its users are identified to services like Gatehouse's own: it is Gatehouse, or is trusted as Gatehouse is.
        case gatehouse
        /// Its users are not Gatehouse's: separate fields identify them to services.
        case external(External)
    }

    struct External: Sendable, Equatable {
        var form = ExternalTokenVerifier.Form()
        /// The names that routes use for its roles. Other roles do not satisfy a route that requires one.
        var roleNames: [VerbatimString: VerbatimString] = [:]
    }

    /// `iss`
    var issuer: String
    /// `aud`
    var audience: String
    var standing = Standing.gatehouse
}
