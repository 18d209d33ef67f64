import Bytes
import Foundation
import ServiceKit
import Settings

/// Settings of Sign in with Apple.
struct AppleConfiguration: Sendable {
    var keysURL: URL
    var tokenURL: URL
    var revokeURL: URL
    var migrationURL: URL
    var policy: AppleTokenPolicy
    /// Redirect URIs that are allowed on the web.
    var redirectURIs: Set<VerbatimString>
    var keyRules: AppleKeyCache<AppleKeySet>.Rules
    /// `nil` where the team has no key of its own at Apple.
    var clientSecret: AppleClientSecret?

    init(settings: Settings) {
        keysURL = settings.url("appleKeysURL", default: "https://appleid.apple.com/auth/keys")
        tokenURL = settings.url("appleTokenURL", default: "https://appleid.apple.com/auth/token")
        revokeURL = settings.url("appleRevokeURL", default: "https://appleid.apple.com/auth/revoke")
        migrationURL = settings.url(
            "appleMigrationURL", default: "https://appleid.apple.com/auth/usermigrationinfo")
        let clientIDs = settings.strings(
            "appleClientIDs", default: settings.environment == .development ? ["com.example.app"] : [])
        policy = AppleTokenPolicy(
            issuers: Set(
                verbatim: settings.strings("appleIssuers", default: AppleTokenPolicy.appleIssuers.map(\.text))),
            clientIDs: Set(verbatim: clientIDs), nonceRule: settings.choice("appleNonce", default: .optional))
        redirectURIs = Self.redirectURIs(settings)
        keyRules = AppleKeyCache.Rules()
        keyRules.unknownKeyCooldown = settings.seconds("appleKeysCooldown", default: 30, in: 0...3600)
        clientSecret = Self.clientSecret(settings)
        if clientSecret != nil, clientIDs.isEmpty {
            settings.problem("appleClientIDs", "is not set, but Apple's key is")
        }
    }

    /// Whether users may sign in with Apple. An installation may begin with passwords alone.
    var isOffered: Bool { !policy.clientIDs.isEmpty }

    /// Apple compares redirect URIs as exact texts, and accepts only HTTPS.
    private static func redirectURIs(_ settings: Settings) -> Set<VerbatimString> {
        let uris = settings.strings("appleRedirectURIs", default: [])
        for uri in uris where !uri.hasPrefix("https://") || uri.contains("#") {
            settings.problem("appleRedirectURIs", "names \(uri); each must be an https address without a fragment")
        }
        return Set(verbatim: uris)
    }

    /// The team's own key. Its three settings are either all set or all absent.
    private static func clientSecret(_ settings: Settings) -> AppleClientSecret? {
        let teamID = settings.optionalString("appleTeamID")
        let keyID = settings.optionalString("appleKeyID")
        let pem = settings.optionalSecretFile("applePrivateKeyFile")
        guard let teamID, let keyID, let pem else {
            let parts = [("appleTeamID", teamID), ("appleKeyID", keyID), ("applePrivateKeyFile", pem)]
            if parts.contains(where: { $0.1 != nil }) {
                for (name, value) in parts where value == nil {
                    settings.problem(name, "is not set, but others of Apple's key are")
                }
            }
            return nil
        }
        do {
            return try AppleClientSecret(teamID: teamID, keyID: keyID, pem: pem)
        } catch {
            settings.problem("applePrivateKeyFile", "names a file that holds no P-256 private key in PEM")
            return nil
        }
    }
}
