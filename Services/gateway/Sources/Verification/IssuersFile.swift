import Foundation
import GatehouseAccessTokens
import GatehouseBytes
import Yams

/// Issuers besides Gatehouse whose access tokens routes may accept, from a YAML file.
struct IssuersFile {
    /// The source of an issuer's public keys.
    enum Keys: Sendable {
        /// Any of these URLs.
        case jwks([URL])
        case file(PublicKeyFile)
    }

    private static let keys: Set<String> = [
        "issuer", "audience", "jwks", "keysFile", "trustedAs", "algorithms", "types", "roleClaim", "roles",
    ]
    /// Keys that describe the tokens of an issuer without `trustedAs`.
    private static let external = ["algorithms", "types", "roleClaim", "roles"]

    private(set) var issuers: [(issuer: TrustedIssuer, keys: Keys)] = []
    /// All errors in the file.
    private(set) var problems: [String] = []

    private let own: TrustedIssuer
    private let allowsDevelopment: Bool

    /// - Parameters:
    ///   - own: Gatehouse's own issuer, which the file may not name.
    ///   - allowsDevelopment: whether keys may be fetched without TLS, or be marked for development.
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
        let location = "line \(node.mark?.line ?? 0): "
        guard let mapping = node.mapping, mapping.keys.allSatisfy({ Self.keys.contains($0.string ?? "") }),
            let issuer = mapping["issuer"]?.string, !issuer.isEmpty
        else {
            problems.append(
                location + "must have issuer, and jwks or keysFile; it may have "
                    + Self.keys.subtracting(["issuer", "jwks", "keysFile"]).sorted().joined(separator: ", "))
            return
        }
        guard !issuer.isVerbatim(own.issuer), !issuers.contains(where: { $0.issuer.issuer.isVerbatim(issuer) }) else {
            problems.append(location + "\(issuer) is already a trusted issuer")
            return
        }
        do throws(InvalidEntry) {
            let keys = try keys(mapping["jwks"]?.string, mapping["keysFile"]?.string)
            let audience = mapping["audience"]?.string ?? own.audience
            let trust = try trust(mapping)
            issuers.append((TrustedIssuer(issuer: issuer, audience: audience, trust: trust), keys))
        } catch {
            problems.append(location + error.description)
        }
    }

    private struct InvalidEntry: Error {
        var description: String
    }

    private func keys(_ jwks: String?, _ file: String?) throws(InvalidEntry) -> Keys {
        switch (jwks, file) {
        case (let address?, nil):
            guard let url = URL(string: address), url.host?.isEmpty == false,
                url.scheme == "https" || (url.scheme == "http" && allowsDevelopment)
            else { throw InvalidEntry(description: "jwks must be an https address") }
            return .jwks([url])
        case (nil, let path?):
            let file = PublicKeyFile(path: path, allowsDevelopment: allowsDevelopment)
            do throws(AccessTokenError) {
                _ = try file.read()
            } catch {
                throw InvalidEntry(description: "keysFile cannot be used: \(path): \(error.message)")
            }
            return .file(file)
        default: throw InvalidEntry(description: "must have jwks or keysFile")
        }
    }

    private func trust(_ mapping: Node.Mapping) throws(InvalidEntry) -> TrustedIssuer.Trust {
        if let trustedAs = mapping["trustedAs"] {
            guard trustedAs.string == "gatehouse" else {
                throw InvalidEntry(description: "trustedAs, if present, must be gatehouse")
            }
            if let name = Self.external.first(where: { mapping[$0] != nil }) {
                throw InvalidEntry(
                    description: "\(name) is not allowed with trustedAs: the tokens have Gatehouse's format")
            }
            return .gatehouse
        }
        var external = TrustedIssuer.External()
        if let node = mapping["algorithms"] {
            let algorithms = try texts(node, "algorithms").map { SignatureAlgorithm(rawValue: $0) }
            guard !algorithms.isEmpty, !algorithms.contains(nil) else {
                throw InvalidEntry(description: "algorithms must be a list of RS256 and ES256")
            }
            external.form.algorithms = Set(algorithms.compactMap(\.self))
        }
        if let node = mapping["types"] {
            let types = try texts(node, "types")
            guard !types.isEmpty, types.allSatisfy({ ["at+jwt", "JWT"].contains($0) }) else {
                throw InvalidEntry(description: "types must be a list of at+jwt and JWT")
            }
            external.form.acceptsAnyJWT = types.contains("JWT")
        }
        if let node = mapping["roleClaim"] {
            guard let path = ClaimPath(try texts(node, "roleClaim")) else {
                throw InvalidEntry(
                    description:
                        "roleClaim must name a claim without another meaning, or list up to 6 names, one within"
                        + " the other")
            }
            external.form.roles = path
        }
        if let node = mapping["roles"] {
            external.roleNames = try roleNames(node, hasClaim: external.form.roles != nil)
        }
        return .external(external)
    }

    /// Maps the issuer's roles to the names that routes use.
    private func roleNames(_ node: Node, hasClaim: Bool) throws(InvalidEntry) -> [VerbatimString: VerbatimString] {
        guard hasClaim else { throw InvalidEntry(description: "roles need a roleClaim") }
        var names: [VerbatimString: VerbatimString] = [:]
        for (theirs, ours) in node.mapping ?? [:] {
            guard let theirs = theirs.string, let ours = ours.string, !theirs.isEmpty, !ours.isEmpty else { continue }
            names[VerbatimString(theirs)] = VerbatimString(ours)
        }
        guard !names.isEmpty, names.count == node.mapping?.count else {
            throw InvalidEntry(description: "roles must be like {issuer-role: route-role}")
        }
        return names
    }

    /// A word, or a list of words.
    private func texts(_ node: Node, _ key: String) throws(InvalidEntry) -> [String] {
        let texts = (node.sequence.map(Array.init) ?? [node]).map(\.string)
        guard !texts.contains(nil) else { throw InvalidEntry(description: "\(key) must be a word or a list of words") }
        return texts.compactMap(\.self)
    }
}
