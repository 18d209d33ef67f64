import AccessToken
import Foundation
import Verbatim
import Yams

/// Issuers besides Gatehouse whose access tokens routes may take, as a YAML file tells them.
struct IssuersFile {
    /// Where an issuer's public keys are.
    enum Keys: Sendable {
        /// At any of these addresses.
        case jwks([URL])
        case file(PublicKeyFile)
    }

    private static let keys: Set<String> = ["issuer", "audience", "jwks", "keysFile"]

    private(set) var issuers: [(issuer: TrustedIssuer, keys: Keys)] = []
    /// All that is wrong with the file.
    private(set) var problems: [String] = []

    private let own: TrustedIssuer
    private let allowsDevelopment: Bool

    /// - Parameters:
    ///   - own: Gatehouse itself, which the file may not name.
    ///   - allowsDevelopment: whether keys may come without TLS, or have the mark of development.
    init(yaml: String, own: TrustedIssuer, allowsDevelopment: Bool) {
        self.own = own
        self.allowsDevelopment = allowsDevelopment
        guard let root = try? Yams.compose(yaml: yaml)?.mapping, root.count == 1,
            let list = root["issuers"]?.sequence, !list.isEmpty
        else {
            problems.append("must have a list 'issuers', and nothing else")
            return
        }
        for node in list { read(node) }
    }

    private mutating func read(_ node: Node) {
        let place = "line \(node.mark?.line ?? 0): "
        guard let mapping = node.mapping, mapping.keys.allSatisfy({ Self.keys.contains($0.string ?? "") }),
            let issuer = mapping["issuer"]?.string, !issuer.isEmpty
        else {
            problems.append(place + "must have issuer, and jwks or keysFile; it may have audience")
            return
        }
        guard !issuer.isVerbatim(own.issuer), !issuers.contains(where: { $0.issuer.issuer.isVerbatim(issuer) }) else {
            problems.append(place + "\(issuer) is there already")
            return
        }
        do throws(Mistake) {
            let keys = try keys(mapping["jwks"]?.string, mapping["keysFile"]?.string)
            let audience = mapping["audience"]?.string ?? own.audience
            issuers.append((TrustedIssuer(issuer: issuer, audience: audience), keys))
        } catch {
            problems.append(place + error.description)
        }
    }

    private struct Mistake: Error {
        var description: String
    }

    private func keys(_ jwks: String?, _ file: String?) throws(Mistake) -> Keys {
        switch (jwks, file) {
        case (let address?, nil):
            guard let url = URL(string: address), url.host?.isEmpty == false,
                url.scheme == "https" || (url.scheme == "http" && allowsDevelopment)
            else { throw Mistake(description: "jwks must be an https address") }
            return .jwks([url])
        case (nil, let path?):
            let file = PublicKeyFile(path: path, allowsDevelopment: allowsDevelopment)
            do throws(AccessTokenError) {
                _ = try file.read()
            } catch {
                throw Mistake(description: "keysFile cannot be used: \(path): \(error.message)")
            }
            return .file(file)
        default: throw Mistake(description: "must have jwks or keysFile")
        }
    }
}
