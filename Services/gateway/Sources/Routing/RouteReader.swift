import GatehouseBytes
import GatehouseServiceContracts
import GatehouseServiceKit
import Yams

/// Reads one entry of the routes file.
struct RouteReader {
    private static let keys: Set<String> = [
        "name", "path", "exact", "methods", "upstreams", "authentication", "roles", "maximumAuthenticationAge",
        "bodyLimit", "bufferBodies", "timeout", "stripPrefix", "rewritePrefix", "rateLimit", "cors",
        "certificateAuthority",
        "forwardAuthorization", "claims", "issuers", "webSocket", "outliveToken", "credential", "healthCheck",
        "idleTimeout",
    ]

    private(set) var problems: [RoutesFile.Problem] = []
    private let node: Node
    private let name: String
    private let environment: [String: String]
    private let issuers: Set<VerbatimString>
    private let reserved: [String]

    init(
        _ node: Node, number: Int, environment: [String: String], issuers: Set<VerbatimString>, reserved: [String]
    ) {
        self.node = node
        self.environment = environment
        self.issuers = issuers
        self.reserved = reserved
        name = node.mapping?["name"]?.string ?? "\(number)"
    }

    mutating func problem(_ message: String, at node: Node? = nil) {
        problems.append(.init(line: (node ?? self.node).mark?.line, route: name, message: message))
    }

    mutating func read() -> Route? {
        guard let mapping = node.mapping else {
            problem("is not a mapping")
            return nil
        }
        for (key, _) in mapping where !Self.keys.contains(key.string ?? "") {
            problem("unknown key '\(key.string ?? "")'", at: key)
        }
        if mapping["name"] == nil { problem("has no name") }
        let pattern = pattern(mapping["path"], isPrefix: !flag(mapping["exact"], "exact"))
        let methods = methods(mapping["methods"])
        let addresses = addresses(mapping["upstreams"])
        let authorities = authorities(mapping["certificateAuthority"], addresses)
        let authentication = authentication(mapping["authentication"])
        let roles = strings(mapping["roles"], "roles") ?? []
        if !roles.isEmpty, authentication != .required { problem("roles need authentication: required") }
        let maximumAge = number(mapping["maximumAuthenticationAge"], "maximumAuthenticationAge", in: 1...31_536_000)
        if maximumAge != nil, authentication != .required {
            problem("maximumAuthenticationAge needs authentication: required")
        }
        let bodyLimit = number(mapping["bodyLimit"], "bodyLimit", in: 0...(1 << 50)) ?? 1_048_576
        let buffersBodies = mapping["bufferBodies"].map { flag($0, "bufferBodies") } ?? true
        let timeout = number(mapping["timeout"], "timeout", in: 1...3600) ?? 15
        let stripsPrefix = flag(mapping["stripPrefix"], "stripPrefix")
        let rewrittenPrefix = rewrittenPrefix(mapping["rewritePrefix"])
        if stripsPrefix, rewrittenPrefix != nil { problem("stripPrefix and rewritePrefix exclude each other") }
        let forwardsAuthorization = flag(mapping["forwardAuthorization"], "forwardAuthorization")
        let claims = claims(mapping["claims"])
        if !claims.isEmpty, authentication == .none { problem("claims need a bearer: authentication is none") }
        let issuers = strings(mapping["issuers"], "issuers") ?? []
        for issuer in issuers where !self.issuers.contains(issuer) {
            problem("'\(issuer)' is not in the file of issuers", at: mapping["issuers"])
        }
        let limit = rateLimit(mapping["rateLimit"])
        let cors = cors(mapping["cors"])
        let allowsWebSocket = flag(mapping["webSocket"], "webSocket")
        let outlivesToken = flag(mapping["outliveToken"], "outliveToken")
        let credential = credential(mapping["credential"])
        let healthCheck = healthCheck(mapping["healthCheck"])
        let idleTimeout = number(mapping["idleTimeout"], "idleTimeout", in: 1...3600)
        guard problems.isEmpty, let pattern else { return nil }
        let upstream = Upstream(
            name: name, addresses: addresses, credential: credential, authorities: authorities,
            healthCheck: healthCheck, idleTimeout: idleTimeout.map { .seconds($0) }, isGatehouse: false)
        return Route(
            name: name, pattern: pattern, methods: methods, authentication: authentication, roles: Set(verbatim: roles),
            maximumAuthenticationAge: maximumAge, target: .upstream(upstream), bodyLimit: bodyLimit,
            buffersBodies: buffersBodies, timeout: .seconds(timeout), stripsPrefix: stripsPrefix,
            rewrittenPrefix: rewrittenPrefix,
            forwardsAuthorization: forwardsAuthorization, claims: claims, issuers: Set(verbatim: issuers),
            allowsWebSocket: allowsWebSocket, outlivesToken: outlivesToken, limit: limit, cors: cors)
    }

    // MARK: Values

    private mutating func pattern(_ node: Node?, isPrefix: Bool) -> PathPattern? {
        guard let path = node?.string else {
            problem("has no path", at: node)
            return nil
        }
        guard let pattern = PathPattern(path, isPrefix: isPrefix) else {
            problem("'\(path)' is not a plain path", at: node)
            return nil
        }
        let folded = path.lowercased()
        guard !reserved.contains(where: { folded == $0 || folded.hasPrefix($0 + "/") }) else {
            problem("'\(path)' belongs to Gatehouse", at: node)
            return nil
        }
        return pattern
    }

    private mutating func rewrittenPrefix(_ node: Node?) -> String? {
        guard let node else { return nil }
        guard let prefix = node.string, prefix != "/", let pattern = PathPattern(prefix),
            pattern.segments.allSatisfy({ if case .literal(let text) = $0 { !text.isEmpty } else { false } })
        else {
            problem("rewritePrefix must be a plain path like /v2/orders", at: node)
            return nil
        }
        if case .literal(let first)? = pattern.segments.first, first.lowercased() == "internal" {
            problem("rewritePrefix would reach /internal", at: node)
            return nil
        }
        return prefix
    }

    private mutating func methods(_ node: Node?) -> MethodSet {
        guard let names = strings(node, "methods") else { return .all }
        var methods: MethodSet = []
        for name in names {
            if let method = RequestMethod(name) {
                methods.insert(method)
            } else {
                problem("unknown method '\(name)'", at: node)
            }
        }
        if names.isEmpty { problem("methods is empty", at: node) }
        return methods
    }

    private mutating func addresses(_ node: Node?) -> [Upstream.Address] {
        let texts = strings(node, "upstreams") ?? []
        if texts.isEmpty { problem("has no upstreams", at: node) }
        return texts.compactMap { text in
            if let address = Upstream.Address(url: text) { return address }
            // Only the part after an `@` is shown, because a password may precede it.
            let shown = text.split(separator: "@").last ?? ""
            problem("'\(shown)' is not an address like http://orders:8080", at: node)
            return nil
        }
    }

    private mutating func authorities(_ node: Node?, _ addresses: [Upstream.Address]) -> Upstream.Authorities? {
        guard addresses.contains(where: \.isSecure) else {
            if node != nil { problem("certificateAuthority needs upstreams with https", at: node) }
            return nil
        }
        guard addresses.allSatisfy(\.isSecure) else {
            problem("upstreams must all be http, or all https")
            return nil
        }
        // The certificate and the `Host` field contain this name.
        guard Set(addresses.map(\.host)).count == 1 else {
            problem("upstreams with https must all have one host name")
            return nil
        }
        do {
            return try .read(file: node.map { $0.string ?? "" })
        } catch {
            problem("certificateAuthority must name a file of certificates in PEM", at: node)
            return nil
        }
    }

    private mutating func authentication(_ node: Node?) -> PublicRoute.Bearer {
        guard let node else { return .required }
        guard let value = node.string.flatMap(PublicRoute.Bearer.init), value != .reported else {
            problem("authentication must be required, optional or none", at: node)
            return .required
        }
        return value
    }

    private mutating func claims(_ node: Node?) -> [ForwardedClaim] {
        let names = strings(node, "claims") ?? []
        if Set(names).count < names.count { problem("claims has a duplicate", at: node) }
        return names.compactMap { name in
            if let claim = ForwardedClaim(rawValue: name) { return claim }
            let known = ForwardedClaim.allCases.map(\.rawValue).joined(separator: ", ")
            problem("'\(name)' cannot be forwarded as a claim; allowed are \(known)", at: node)
            return nil
        }
    }

    private mutating func cors(_ node: Node?) -> CORSPolicy? {
        guard let node else { return nil }
        let known: Set = ["origins", "headers", "expose", "maxAge"]
        guard let mapping = node.mapping, mapping.keys.allSatisfy({ known.contains($0.string ?? "") }),
            let origins = strings(mapping["origins"], "origins"), !origins.isEmpty,
            origins.allSatisfy(CORSPolicy.isOrigin)
        else {
            problem(
                "cors must be like {origins: [https://app.example.com], headers: [], expose: [], maxAge: 600}", at: node
            )
            return nil
        }
        var policy = CORSPolicy(origins: Set(verbatim: origins))
        policy.headers = fieldNames(mapping["headers"], "headers") ?? policy.headers
        policy.exposed = fieldNames(mapping["expose"], "expose") ?? []
        policy.maximumAge = number(mapping["maxAge"], "maxAge", in: 0...86_400) ?? policy.maximumAge
        return policy
    }

    private mutating func fieldNames(_ node: Node?, _ key: String) -> [String]? {
        guard let names = strings(node, key) else { return nil }
        guard names.allSatisfy({ !$0.isEmpty && FieldSection.tokenBytes.containsAll($0.utf8) }) else {
            problem("\(key) must be names of header fields", at: node)
            return nil
        }
        return names
    }

    private mutating func rateLimit(_ node: Node?) -> RateLimit? {
        guard let node else { return nil }
        guard let mapping = node.mapping, Set(mapping.keys.map { $0.string ?? "" }) == ["requests", "seconds"] else {
            problem("rateLimit must be like {requests: 100, seconds: 60}", at: node)
            return nil
        }
        guard let requests = number(mapping["requests"], "requests", in: 1...10_000_000),
            let seconds = number(mapping["seconds"], "seconds", in: 1...86_400)
        else { return nil }
        return RateLimit(capacity: requests, perSecond: Double(requests) / Double(seconds))
    }

    private mutating func credential(_ node: Node?) -> String? {
        guard let node else { return nil }
        var text = node.string ?? ""
        if text.hasPrefix("env:") {
            let variable = String(text.dropFirst(4))
            guard let value = environment[variable] else {
                problem("the environment has no \(variable)", at: node)
                return nil
            }
            text = value
        }
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            problem("credential must be visible ASCII without spaces", at: node)
            return nil
        }
        return text
    }

    private mutating func strings(_ node: Node?, _ key: String) -> [String]? {
        guard let node else { return nil }
        let texts = node.sequence?.map(\.string) ?? [node.string]
        guard !texts.contains(nil) else {
            problem("\(key) must be a list of words", at: node)
            return nil
        }
        return texts.compactMap { $0 }
    }

    mutating func number(_ node: Node?, _ key: String, in range: ClosedRange<Int>) -> Int? {
        guard let node else { return nil }
        guard let number = node.int, range.contains(number) else {
            problem("\(key) must be a whole number from \(range.lowerBound) to \(range.upperBound)", at: node)
            return nil
        }
        return number
    }

    private mutating func flag(_ node: Node?, _ key: String) -> Bool {
        guard let node else { return false }
        guard let flag = node.bool else {
            problem("\(key) must be true or false", at: node)
            return false
        }
        return flag
    }
}

extension RouteReader {
    /// Reads the health check for the addresses of the route's upstream.
    mutating func healthCheck(_ node: Node?) -> HealthCheck? {
        guard let node else { return nil }
        let known: Set = ["path", "interval", "timeout"]
        guard let mapping = node.mapping, mapping.keys.allSatisfy({ known.contains($0.string ?? "") }) else {
            problem("healthCheck must be like {path: /health, interval: 5, timeout: 2}", at: node)
            return nil
        }
        guard let path = mapping["path"]?.string, let pattern = PathPattern(path),
            pattern.segments.allSatisfy({ if case .literal = $0 { true } else { false } })
        else {
            problem("healthCheck needs a plain path like /health", at: mapping["path"] ?? node)
            return nil
        }
        if case .literal(let first)? = pattern.segments.first, first.lowercased() == "internal" {
            problem("healthCheck would reach /internal", at: mapping["path"])
            return nil
        }
        var check = HealthCheck(path: path)
        if let interval = number(mapping["interval"], "interval", in: 1...300) { check.interval = .seconds(interval) }
        if let timeout = number(mapping["timeout"], "timeout", in: 1...60) { check.timeout = .seconds(timeout) }
        return check
    }
}
