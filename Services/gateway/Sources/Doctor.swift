import Foundation
import GatehouseAccessTokens
import GatehouseServiceContracts
public import GatehouseServiceKit
import Redis

extension GatewayApplication: ExaminedApplication {
    public static func examine(
        _ configuration: GatewayConfiguration, _ examination: Examination
    ) async -> [Finding] {
        var findings = certificate(configuration)
        for peer in peers(configuration) { findings += await examination.examine(peer) }
        findings += await keys(configuration, examination)
        if let redis = configuration.redis {
            findings += await examination.redis(
                tls: redis.tls.map { _ in TLSServer("Redis", host: redis.host, port: redis.port) }
            ) {
                try await RedisClient.info(
                    of: redis, on: examination.eventLoopGroup, logger: examination.logger)
            }
        }
        return findings
    }

    private static func peers(_ configuration: GatewayConfiguration) -> [ExaminedPeer] {
        let headers = [
            (HeaderName.userID, UUID().uuidString.lowercased()), (HeaderName.sessionID, UUID().uuidString.lowercased()),
            (HeaderName.role, "user"),
        ]
        return configuration.peers.map { peer in
            let (mine, theirs) = (
                "GATEWAY_\(peer.name.uppercased())_CREDENTIAL", "\(peer.name.uppercased())_GATEWAY_CREDENTIALS"
            )
            // Identity and devices read the user from the gateway's fields. The probe therefore requests a password
            // change without a password, or the devices of a user who has none.
            let probe: ExaminedPeer.Probe =
                switch peer.name {
                case "tokens": .init("/internal/revocations?wait=0")
                case "identity": .init("/v1/auth/password", method: "POST", headers: headers, json: "{}", accepted: 400)
                default: .init("/v1/devices", headers: headers)
                }
            return ExaminedPeer(
                peer.name, urls: peer.urls, credential: peer.credential, settings: (mine, theirs), probe: probe)
        }
    }

    private static func keys(
        _ configuration: GatewayConfiguration, _ examination: Examination
    ) async -> [Finding] {
        if let file = configuration.keysFile {
            let count = (try? file.read().keyIDs.count) ?? 0
            return [.fine("GATEWAY_KEYS_FILE holds the keys that verify access tokens: \(count).")]
        }
        var sets: [Set<String>] = []
        for url in configuration.tokensURLs {
            let url = url.appending(path: ".well-known/jwks.json").absoluteString
            do {
                let reply = try await examination.send(url)
                sets.append(Set(try VerificationKeySet(jwks: Array(reply.body.utf8)).keyIDs))
            } catch {
                let why = NetworkTrouble.words(error)
                return [
                    .problem(
                        "The keys that verify access tokens cannot be fetched from \(url): \(why).",
                        remedy: "Run `tokens doctor` there.")
                ]
            }
        }
        guard Set(sets).count <= 1 else {
            return [
                .problem(
                    "The replicas of tokens publish different keys: tokens of some are refused.",
                    remedy: "Give all of them the same signing key file.")
            ]
        }
        return [.fine("The keys that verify access tokens can be fetched: \(sets.first?.count ?? 0).")]
    }

    private static func certificate(_ configuration: GatewayConfiguration) -> [Finding] {
        guard let (certificate, key) = configuration.certificateFiles else {
            return [.fine("The gateway speaks HTTP: a proxy in front of it has to terminate TLS.")]
        }
        do throws(ServerCertificate.Failure) {
            let expiresAt = try ServerCertificate.read(certificateFile: certificate, keyFile: key).expiresAt
            return [
                CertificateFinding.finding(
                    certificate, expiresAt: Date(timeIntervalSince1970: TimeInterval(expiresAt)))
            ]
        } catch {
            return [
                .problem("The certificate cannot be used: \(error).", remedy: "Put a certificate and its key there.")
            ]
        }
    }
}
