import Contracts
import Foundation
import ServiceKit
import Settings
import Yams

/// The settings of push delivery.
struct PushConfiguration: Sendable {
    /// The services that may push.
    var callers: PushCallers
    /// Apple's keys. Without any, nothing can be sent, and pushes are refused.
    var keys: [APNsKeySettings]
    var productionURL: URL
    var sandboxURL: URL
    /// Targets of one caller that may wait.
    var queueLimit: Int
    /// Seconds until a push is repeated that APNs could not take.
    var retryDelay: Int
    var limits = PushSender.Limits()

    init(settings: Settings, reservedCallers: Set<String>) {
        let callers = settings.optionalSecretFile(
            "pushCallersFile",
            "YAML list `callers` of the services that may push: `name`, `credential`, `bundleIds`, `pushTypes`"
        )
        self.callers =
            settings.read("pushCallersFile", from: callers ?? "") {
                try PushCallers(yaml: $0, reserved: reservedCallers)
            } ?? PushCallers()
        let keys = settings.optionalSecretFile(
            "apnsKeysFile",
            """
            YAML list `keys` of Apple's keys for push delivery: `team`, `keyId`, `file` (the `.p8`) or `pem`; \
            `environments` and `topics` (bundle ids), if it is not for all. Without it pushes are refused
            """)
        self.keys =
            settings.read("apnsKeysFile", from: keys ?? "") { try APNsKeySettings.list(yaml: $0) } ?? []
        productionURL = Self.url("apnsProductionURL", "https://api.push.apple.com", "production", settings)
        sandboxURL = Self.url("apnsSandboxURL", "https://api.sandbox.push.apple.com", "sandbox", settings)
        queueLimit = settings.int(
            "pushQueueLimit", default: 100_000, in: 1...10_000_000,
            "devices of one caller's pushes that may wait; further pushes are refused with 429")
        retryDelay = settings.int(
            "pushRetryDelay", default: 900, in: 1...86_400, unit: "seconds",
            "time until a push is repeated that APNs answered with 500 or 503. It doubles each time")
        limits.concurrency = settings.int(
            "pushConcurrency", default: 1000, in: 1...100_000, "pushes that a replica has in flight")
        limits.maximumStaleness = settings.seconds(
            "revocationMaxStaleness", default: 60, in: 30...86_400,
            "time for which pushes are sent although the revocation feed cannot be read")
    }

    /// Provider tokens must not be sent in the clear. Apple, "Sending notification requests to APNs".
    private static func url(_ key: String, _ address: String, _ environment: String, _ settings: Settings) -> URL {
        let url = settings.url(key, default: address, "address of APNs for tokens of the \(environment) environment")
        if settings.environment == .production, url.scheme != "https" {
            settings.problem(key, "must be an https address in production")
        }
        return url
    }
}

/// A service that may push.
struct PushCaller: Sendable, Equatable {
    let name: String
    let bundleIDs: Set<String>
    let types: Set<PushType>

    func allows(_ type: PushType, to bundleID: String) -> Bool { types.contains(type) && bundleIDs.contains(bundleID) }
}

/// The services that may push, from a YAML file.
struct PushCallers: Sendable {
    private(set) var callers: [String: PushCaller] = [:]
    private(set) var credentials = CallerCredentials([:])

    init() {}

    /// - Parameter reserved: names of other callers.
    /// - Throws: ``InvalidPushFile``, without a credential in its text.
    init(yaml: String, reserved: Set<String>) throws(InvalidPushFile) {
        var credentials: [String: [String]] = [:]
        for entry in try PushFile.entries(of: "callers", in: yaml) {
            let name = try entry.text("name")
            guard !name.isEmpty, name.utf8.count <= 64, name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
                !reserved.contains(name), callers[name] == nil
            else { throw entry.invalid("name must be new, and not \(reserved.sorted().joined(separator: ", "))") }
            let shown = try entry.texts("credential")
            guard (1...2).contains(shown.count), shown.allSatisfy({ $0.utf8.count >= 8 }) else {
                throw entry.invalid("credential must be one of at least 8 characters, or a list of two")
            }
            guard credentials.values.allSatisfy({ Set($0).isDisjoint(with: shown) }) else {
                throw entry.invalid("credential must not be shared with another caller")
            }
            let types = try entry.texts("pushTypes").map { PushType(rawValue: $0) }
            guard !types.isEmpty, types.allSatisfy({ $0?.registrationKind != nil }) else {
                let known = PushType.allCases.filter { $0.registrationKind != nil }.map(\.rawValue)
                throw entry.invalid("pushTypes must be a list of \(known.joined(separator: ", "))")
            }
            let bundleIDs = try entry.texts("bundleIds")
            guard !bundleIDs.isEmpty, bundleIDs.allSatisfy(BundleID.isValid) else {
                throw entry.invalid("bundleIds must be a list of bundle identifiers")
            }
            callers[name] = PushCaller(
                name: name, bundleIDs: Set(bundleIDs), types: Set(types.compactMap { $0 }))
            credentials[name] = shown
            try entry.allow(only: ["name", "credential", "pushTypes", "bundleIds"])
        }
        self.credentials = CallerCredentials(credentials)
    }

    var names: Set<String> { Set(callers.keys) }
}

/// A key of Apple's for push delivery, as the settings describe it. Its text is a secret.
struct APNsKeySettings: Sendable, Equatable, Confidential {
    let team: String
    let keyID: String
    /// PKCS #8, as Apple's `.p8` files.
    let pem: String
    let environments: [PushEnvironment]
    /// Bundle ids; `nil` for all of the team.
    let topics: Set<String>?

    /// Whether the key is for an app.
    func isFor(_ bundleID: String) -> Bool { topics?.contains(bundleID) ?? true }

    static func list(yaml: String) throws(InvalidPushFile) -> [APNsKeySettings] {
        var keys: [APNsKeySettings] = []
        for entry in try PushFile.entries(of: "keys", in: yaml) {
            let (team, keyID) = (try entry.text("team"), try entry.text("keyId"))
            // Apple, "Establishing a token-based connection to APNs": both have ten characters.
            for id in [team, keyID]
            where id.utf8.count != 10 || !id.utf8.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit }) {
                throw entry.invalid("team and keyId must have ten letters and digits")
            }
            guard !keys.contains(where: { $0.keyID == keyID }) else { throw entry.invalid("\(keyID) is there twice") }
            let pem: String
            switch (entry.has("file"), entry.has("pem")) {
            case (true, false):
                let path = try entry.text("file")
                guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
                    throw entry.invalid("file cannot be read: \(path)")
                }
                if let mode = SecretFile.openMode(path) {
                    throw entry.invalid("file is open to everybody (mode \(mode)): \(path)")
                }
                pem = text
            case (false, true): pem = try entry.text("pem")
            default: throw entry.invalid("must have file or pem")
            }
            guard pem.contains("-----BEGIN PRIVATE KEY-----") else {
                throw entry.invalid("the key must be a .p8 file of Apple's (BEGIN PRIVATE KEY)")
            }
            let environments =
                entry.has("environments")
                ? try entry.texts("environments").map(PushEnvironment.init(rawValue:)) : PushEnvironment.known
            guard !environments.isEmpty, environments.allSatisfy(\.isKnown) else {
                throw entry.invalid("environments must be a list of sandbox, production")
            }
            let topics = entry.has("topics") ? Set(try entry.texts("topics")) : nil
            guard topics?.allSatisfy(BundleID.isValid) ?? true else {
                throw entry.invalid("topics must be a list of bundle identifiers")
            }
            try entry.allow(only: ["team", "keyId", "file", "pem", "environments", "topics"])
            keys.append(
                APNsKeySettings(team: team, keyID: keyID, pem: pem, environments: environments, topics: topics))
        }
        return keys
    }
}

/// Why a file of callers or keys cannot be used. It names the line, and no secret.
struct InvalidPushFile: Error, CustomStringConvertible {
    let description: String
}

/// A YAML file with one list of mappings.
private enum PushFile {
    struct Entry {
        let mapping: Node.Mapping
        let line: Int

        func has(_ key: String) -> Bool { mapping[key] != nil }

        func text(_ key: String) throws(InvalidPushFile) -> String {
            guard let text = mapping[key]?.string else { throw invalid("must have \(key)") }
            return text
        }

        /// A word, or a list of words.
        func texts(_ key: String) throws(InvalidPushFile) -> [String] {
            guard let node = mapping[key] else { throw invalid("must have \(key)") }
            let texts = (node.sequence.map(Array.init) ?? [node]).map(\.string)
            guard !texts.contains(nil) else { throw invalid("\(key) must be a word or a list of words") }
            return texts.compactMap(\.self)
        }

        func allow(only keys: Set<String>) throws(InvalidPushFile) {
            let names = mapping.keys.map { $0.string ?? "" }
            if let name = names.first(where: { !keys.contains($0) }) { throw invalid("\(name) is not a key") }
        }

        func invalid(_ what: String) -> InvalidPushFile {
            InvalidPushFile(description: "names a file with an invalid entry in line \(line): \(what)")
        }
    }

    static func entries(of name: String, in yaml: String) throws(InvalidPushFile) -> [Entry] {
        guard let root = try? Yams.compose(yaml: yaml)?.mapping, root.count == 1, let list = root[name]?.sequence,
            !list.isEmpty
        else { throw InvalidPushFile(description: "names a file without a list '\(name)'") }
        var entries: [Entry] = []
        for node in list {
            guard let mapping = node.mapping else {
                throw InvalidPushFile(description: "names a file whose list '\(name)' has other things than mappings")
            }
            entries.append(Entry(mapping: mapping, line: node.mark?.line ?? 0))
        }
        return entries
    }
}
