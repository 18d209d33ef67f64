import AccessToken
import Bytes
import Crypto
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
    /// Whose key vouched for it: the place in the list of trusted issuers, where Gatehouse itself is the first.
    let issuerPlace: Int
    /// The issuer's keys that vouched for it.
    let generation: Int
    let issuer: String
    let userKey: UserKey
    /// The session of Gatehouse's own that ends the token with it.
    let ownSession: UUID?
    /// Any of these opens a route that asks for it.
    let roles: [VerbatimString]
    /// When the user last proved who they are, in seconds since 1970; `nil` where the token does not tell.
    let authenticationTime: Int64?
    /// The field lines that tell a service who the user is, ready to be written.
    let identityLines: [UInt8]
    private let told: Told

    /// A token of Gatehouse's own, or of an issuer that is trusted as Gatehouse is.
    ///
    /// - Parameters:
    ///   - identityLines: tell a service who the user is, ready to be written.
    ///   - leeway: seconds.
    init(
        _ claims: AccessTokenClaims, identityLines: [UInt8], issuerPlace: Int = 0, generation: Int, leeway: Int64 = 0
    ) {
        self.identityLines = identityLines
        self.issuerPlace = issuerPlace
        self.generation = generation
        expiresAt = claims.expiresAt + leeway
        issuer = claims.issuer
        userKey = UserKey(id: claims.subject, issuerPlace: issuerPlace)
        ownSession = issuerPlace == 0 ? claims.sessionID : nil
        roles = [VerbatimString(claims.role)]
        authenticationTime = claims.authenticationTime
        told = Told(
            email: claims.email, isEmailVerified: claims.isEmailVerified, clientID: claims.clientID,
            tokenID: claims.tokenID.uuidString.lowercased(), issuedAt: claims.issuedAt, expiresAt: claims.expiresAt)
    }

    /// A token of an issuer whose users are not Gatehouse's: its user goes to the service in fields of their own.
    ///
    /// - Parameters:
    ///   - identityLines: tell a service who the user is, ready to be written.
    ///   - roleNames: what routes call the issuer's roles.
    ///   - leeway: seconds.
    init(
        external claims: ExternalTokenClaims, identityLines: [UInt8], roleNames: [VerbatimString: VerbatimString],
        issuerPlace: Int, generation: Int, leeway: Int64 = 0
    ) {
        self.identityLines = identityLines
        self.issuerPlace = issuerPlace
        self.generation = generation
        expiresAt = claims.expiresAt + leeway
        issuer = claims.issuer
        userKey = UserKey(name: claims.subject, issuerPlace: issuerPlace)
        ownSession = nil
        roles = claims.roles.compactMap { roleNames[VerbatimString($0)] }
        authenticationTime = claims.authenticationTime
        told = Told(
            email: claims.email, isEmailVerified: claims.isEmailVerified, clientID: claims.clientID,
            tokenID: claims.tokenID, issuedAt: claims.issuedAt, expiresAt: claims.expiresAt)
    }

    /// Whether another issuer than Gatehouse vouches for it.
    var isForeign: Bool { issuerPlace != 0 }

    /// Whether the user has proved who they are so lately. A token that does not tell does not count. A time that is
    /// still to come counts as now: the issuer's clock is ahead.
    ///
    /// - Parameters:
    ///   - maximumAge: in seconds.
    ///   - now: seconds since 1970.
    func isAuthenticated(within maximumAge: Int, now: Int64) -> Bool {
        authenticationTime.map { now - $0 <= Int64(maximumAge) + Self.authenticationLeeway } ?? false
    }

    /// Seconds by which a proof may be too old, for clocks that differ.
    static let authenticationLeeway: Int64 = 5

    func hasRole(of wanted: Set<VerbatimString>) -> Bool { roles.contains { wanted.contains($0) } }

    /// `nil`: the token does not have the claim.
    func value(of claim: ForwardedClaim) -> String? {
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
}

/// A claim that a route can have forwarded to its service, besides the user, session, role and stores.
enum ForwardedClaim: String, Sendable, CaseIterable {
    case email
    /// Beside `email` always.
    case emailVerified = "email_verified"
    case clientID = "client_id"
    case tokenID = "jti"
    case issuer = "iss"
    case issuedAt = "iat"
    case expiresAt = "exp"
}

/// Tokens that were verified of late, by their SHA-256 digest. One for each event loop.
///
/// Holds at most `capacity`. When it is full each new one takes the place of one that was not asked for since the clock's
/// hand passed it last (the clock algorithm): one is let go at a time, since letting go of thousands at once keeps every
/// connection of the loop waiting.
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

        /// A part of a digest is as good as a hash of it, and only genuine tokens get in.
        func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
    }

    private struct Entry {
        let digest: Digest
        let token: VerifiedToken
        var wasUsed = false
    }

    private let capacity: Int
    private var entries: [Entry] = []
    /// Where in `entries` each is.
    private var places: [Digest: Int] = [:]
    private var hand = 0

    init(capacity: Int) { self.capacity = max(1, capacity) }

    /// The token of that digest, if it has not expired and is current: the keys that vouched for it are in force.
    mutating func token(_ digest: Digest, now: Int64, isCurrent: (VerifiedToken) -> Bool) -> VerifiedToken? {
        guard let place = places[digest] else { return nil }
        let token = entries[place].token
        guard now < token.expiresAt, isCurrent(token) else { return nil }
        entries[place].wasUsed = true
        return token
    }

    mutating func insert(_ token: VerifiedToken, as digest: Digest) {
        let entry = Entry(digest: digest, token: token)
        if let place = places[digest] {
            entries[place] = entry
        } else if entries.count < capacity {
            places[digest] = entries.count
            entries.append(entry)
        } else {
            while entries[hand].wasUsed {
                entries[hand].wasUsed = false
                moveHand()
            }
            places[entries[hand].digest] = nil
            places[digest] = hand
            entries[hand] = entry
            moveHand()
        }
    }

    private mutating func moveHand() { hand = hand + 1 == entries.count ? 0 : hand + 1 }

    var count: Int { entries.count }
}

/// Whose access tokens are good here.
struct TrustedIssuer: Sendable, Equatable {
    enum Standing: Sendable, Equatable {
        /// Its users are told of as Gatehouse's own are: it is Gatehouse, or is trusted as Gatehouse is.
        case gatehouse
        /// Its users are others: services are told of them in fields of their own.
        case external(External)
    }

    struct External: Sendable, Equatable {
        var form = ExternalTokenVerifier.Form()
        /// What routes call its roles. Those that are not here open no route that asks for roles.
        var roleNames: [VerbatimString: VerbatimString] = [:]
    }

    /// `iss`
    var issuer: String
    /// `aud`
    var audience: String
    var standing = Standing.gatehouse
}
