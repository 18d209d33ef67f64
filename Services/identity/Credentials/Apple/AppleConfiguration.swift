import Foundation
import GatehouseBytes
import GatehouseServiceKit
import GatehouseSettings
import IdentityCore

/// Settings of Sign in with Apple.
struct AppleConfiguration: CredentialConfiguration {
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
        keysURL = settings.url(
            "appleKeysURL", default: "https://appleid.apple.com/auth/keys", "Apple's keys")
        tokenURL = settings.url(
            "appleTokenURL", default: "https://appleid.apple.com/auth/token", "Apple's endpoint for tokens")
        revokeURL = settings.url(
            "appleRevokeURL", default: "https://appleid.apple.com/auth/revoke", "Apple's endpoint for revocation")
        migrationURL = settings.url(
            "appleMigrationURL", default: "https://appleid.apple.com/auth/usermigrationinfo",
            "Apple's endpoint for transfers between teams")
        let clientIDs = settings.strings(
            "appleClientIDs", default: settings.environment == .development ? ["com.example.app"] : [],
            "bundle and service identifiers. Without them Apple's routes do not exist")
        let issuers = settings.strings(
            "appleIssuers", default: AppleTokenPolicy.appleIssuers.map(\.text).sorted(),
            "accepted `iss` of Apple's tokens")
        policy = AppleTokenPolicy(
            issuers: Set(verbatim: issuers), clientIDs: Set(verbatim: clientIDs),
            nonceRule: settings.choice(
                "appleNonce", default: .optional,
                "`required` refuses a sign-in without a nonce, and accepts each nonce once"))
        redirectURIs = Self.redirectURIs(settings)
        keyRules = AppleKeyCache.Rules()
        keyRules.unknownKeyCooldown = settings.seconds(
            "appleKeysCooldown", default: 30, in: 0...3600,
            "time between fetches caused by unknown key ids, and the longest pause after a failed fetch")
        clientSecret = Self.clientSecret(settings)
        if clientSecret != nil, clientIDs.isEmpty {
            settings.problem("appleClientIDs", "is not set, but Apple's key is")
        }
    }

    /// Whether users may sign in with Apple. An installation may begin with passwords alone.
    var isOffered: Bool { !policy.clientIDs.isEmpty }

    func feature(_ core: CoreParts) -> any CredentialFeature { AppleFeature(self, core) }

    func examine(_ examination: Examination) async -> [Finding] {
        guard isOffered else { return [.fine("Sign in with Apple is not offered.")] }
        let url = keysURL.absoluteString
        let remedy = "Users cannot sign in with tokens under a new key of Apple until Apple's keys can be fetched."
        do {
            let reply = try await examination.send(url)
            guard reply.status == 200 else {
                return [.warning("Apple's keys cannot be fetched: \(url) answers \(reply.status).", remedy: remedy)]
            }
            return [.fine("Apple's keys can be fetched.")]
        } catch {
            let why = NetworkTrouble.words(error)
            return [.warning("Apple's keys cannot be fetched from \(url): \(why).", remedy: remedy)]
        }
    }

    /// Apple compares redirect URIs as exact texts, and accepts only HTTPS.
    private static func redirectURIs(_ settings: Settings) -> Set<VerbatimString> {
        let uris = settings.strings(
            "appleRedirectURIs", default: [],
            "https redirect URIs of Sign in with Apple on the web, exactly as registered at Apple")
        for uri in uris where !uri.hasPrefix("https://") || uri.contains("#") {
            settings.problem("appleRedirectURIs", "names \(uri); each must be an https address without a fragment")
        }
        return Set(verbatim: uris)
    }

    /// The team's own key. Its three settings are either all set or all absent.
    private static func clientSecret(_ settings: Settings) -> AppleClientSecret? {
        let teamID = settings.optionalString("appleTeamID", "the team at Apple. Set all three of its key, or none")
        let keyID = settings.optionalString("appleKeyID", "id of the team's key at Apple")
        let pem = settings.optionalSecretFile(
            "applePrivateKeyFile",
            "the team's key at Apple. Without it codes are not exchanged, and nothing is revoked at Apple")
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
