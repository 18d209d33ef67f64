import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseSettings
import Yams

/// The settings of push delivery.
struct PushConfiguration: Sendable {
    /// The services that may push.
    var callers: PushCallers
    var templates: PushTemplates
    /// Apple's keys. Without any, nothing can be sent, and pushes are refused.
    var keys: [APNsKey]
    var endpoints: APNsEndpoints
    /// What one caller's pushes may take up before further ones are refused.
    var queueLimit: QueueLoad
    /// Pushes to segments of one caller that may be open.
    var bulkLimit: Int
    /// Seconds until a push is repeated that APNs could not take.
    var retryDelay: Int
    var limits = PushSender.Limits()

    init(settings: Settings, reservedCallers: Set<String>) {
        let callers = settings.optionalSecretFile(
            "pushCallersFile",
            """
            YAML list `callers` of the services that may push: `name`, `credential`, `bundleIds`, `pushTypes`; for \
            their alerts `quietHours` (`from` and `to`, as in `22:00`) and `capPerDay`; \
            `tags`, a name that callers with common tags share
            """)
        self.callers =
            settings.read("pushCallersFile", from: callers ?? "") {
                try PushCallers(yaml: $0, reserved: reservedCallers)
            } ?? PushCallers()
        templates = PushTemplates(settings: settings)
        let keys = settings.optionalSecretFile(
            "apnsKeysFile",
            """
            YAML list `keys` of Apple's keys for push delivery: `team`, `keyId`, `file` (the `.p8`) or `pem`; \
            `environments` and `topics` (bundle ids), if it is not for all. Without it pushes are refused
            """)
        self.keys =
            settings.read("apnsKeysFile", from: keys ?? "") { try APNsKey.list(yaml: $0) } ?? []
        endpoints = APNsEndpoints(
            production: Self.server(
                "apnsProductionURL", .init(host: "api.push.apple.com"),
                "address of APNs for tokens of the production environment", settings),
            sandbox: Self.server(
                "apnsSandboxURL", .init(host: "api.sandbox.push.apple.com"),
                "address of APNs for tokens of the sandbox environment", settings),
            productionBroadcasts: Self.server("apnsProductionBroadcastURL", settings),
            sandboxBroadcasts: Self.server("apnsSandboxBroadcastURL", settings),
            productionChannels: Self.server(
                "apnsProductionChannelsURL", APNsEndpoints.appleProductionChannels,
                "address of APNs' management of channels in the production environment", settings),
            sandboxChannels: Self.server(
                "apnsSandboxChannelsURL", APNsEndpoints.appleSandboxChannels,
                "address of APNs' management of channels in the sandbox environment", settings),
            trustRootsFile: settings.optionalPath(
                "apnsAuthoritiesFile", "PEM authorities for the certificates of APNs. Without it, the system's"))
        queueLimit = QueueLoad(
            devices: settings.int(
                "pushQueueLimit", default: 100_000, in: 1...1_000_000,
                """
                devices of one caller's pushes that may wait, and recipients of its scheduled ones; further pushes are \
                refused with 429
                """),
            bytes: settings.int(
                "pushQueueBytes", default: 100_000_000, in: 1...10_000_000_000, unit: "bytes",
                """
                payloads and recipients of one caller's scheduled pushes, and of those to many recipients that are not in \
                the queue yet; further pushes are refused with 429
                """))
        limits.surveyLimit = queueLimit.devices
        bulkLimit = settings.int(
            "pushBulkLimit", default: 20, in: 1...1000,
            "one caller's pushes to segments that may be open; further ones are refused with 429")
        let capPerDay = settings.int(
            "pushCapPerDay", default: 0, in: 0...10_000,
            """
            pushes with `capPerDay` that a user receives in a day of UTC from all apps together. 0: `capPerDay` alone \
            limits them, for each app
            """)
        limits.capPerDay = capPerDay == 0 ? nil : capPerDay
        retryDelay = settings.int(
            "pushRetryDelay", default: 900, in: 1...86_400, unit: "seconds",
            "time until a push is repeated that APNs answered with 500 or 503. It doubles each time")
        limits.concurrency = settings.int(
            "pushConcurrency", default: 1000, in: 1...100_000, "pushes that a replica has in flight")
        limits.maximumStaleness = settings.seconds(
            "revocationMaxStaleness", default: 60, in: 30...86_400,
            "time for which pushes are sent although the revocation feed cannot be read")
    }

    private static func server(
        _ key: String, _ apple: APNsEndpoints.Server, _ meaning: String, _ settings: Settings
    ) -> APNsEndpoints.Server {
        let url = settings.url(key, default: "https://\(apple.authority)", meaning)
        return server(url, key, settings) ?? apple
    }

    /// A server for broadcasts; `nil` if they go to that of other pushes.
    private static func server(_ key: String, _ settings: Settings) -> APNsEndpoints.Server? {
        let meaning = "address of APNs for broadcasts. Without it, that for tokens of the environment"
        return settings.optionalURL(key, meaning).flatMap { server($0, key, settings) }
    }

    /// Provider tokens must not be sent in the clear. Apple, "Sending notification requests to APNs".
    private static func server(_ url: URL, _ key: String, _ settings: Settings) -> APNsEndpoints.Server? {
        let server = settings.read(key, from: url.absoluteString) { try APNsEndpoints.Server($0) }
        if settings.environment == .production, server?.isEncrypted == false {
            settings.problem(key, "must be an https address in production")
        }
        return server
    }
}

/// A service that may push.
struct PushCaller: Sendable, Equatable {
    let name: String
    let bundleIDs: Set<String>
    let types: Set<PushType>
    /// Those of its alerts.
    var quietHours: QuietHours?
    /// Alerts that a user receives in a day.
    var capPerDay: Int?
    /// The name of a space of tags that it shares; `nil`: its own.
    var sharedTags: String?

    /// Where its tags are. No shared space has the name of a caller.
    var tagSpace: TagSpace { TagSpace(name: sharedTags ?? name) }

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
            guard Self.isName(name), !reserved.contains(name), callers[name] == nil else {
                throw entry.invalid("name must be new, and not \(reserved.sorted().joined(separator: ", "))")
            }
            let accepted = try entry.texts("credential")
            guard (1...2).contains(accepted.count), accepted.allSatisfy({ $0.utf8.count >= 8 }) else {
                throw entry.invalid("credential must be one of at least 8 characters, or a list of two")
            }
            guard credentials.values.allSatisfy({ Set($0).isDisjoint(with: accepted) }) else {
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
                name: name, bundleIDs: Set(bundleIDs), types: Set(types.compactMap { $0 }),
                quietHours: try Self.quietHours(of: entry), capPerDay: try Self.cap(of: entry),
                sharedTags: try Self.sharedTags(of: entry))
            credentials[name] = accepted
            try entry.allow(only: ["name", "credential", "pushTypes", "bundleIds", "quietHours", "capPerDay", "tags"])
        }
        if let caller = callers.values.first(where: { $0.sharedTags.map { callers[$0] != nil } ?? false }) {
            throw InvalidPushFile(description: "names a file where tags of \(caller.name) is the name of a caller")
        }
        self.credentials = CallerCredentials(credentials)
    }

    var names: Set<String> { Set(callers.keys) }

    private static func quietHours(of entry: PushFile.Entry) throws(InvalidPushFile) -> QuietHours? {
        guard entry.has("quietHours") else { return nil }
        let hours = entry.mapping["quietHours"]?.mapping
        guard let hours, hours.count == 2, let from = hours["from"]?.string, let to = hours["to"]?.string,
            let quietHours = QuietHours(from: from, to: to)
        else { throw entry.invalid("quietHours must have from and to, two different times as in 22:00") }
        return quietHours
    }

    private static func sharedTags(of entry: PushFile.Entry) throws(InvalidPushFile) -> String? {
        guard entry.has("tags") else { return nil }
        let name = try entry.text("tags")
        guard Self.isName(name) else { throw entry.invalid("tags must be a name of at most 64 visible characters") }
        return name
    }

    /// Of a caller, or of a space of tags.
    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    private static func cap(of entry: PushFile.Entry) throws(InvalidPushFile) -> Int? {
        guard entry.has("capPerDay") else { return nil }
        guard let cap = Int(try entry.text("capPerDay")), (1...PushRules.maximumCap).contains(cap) else {
            throw entry.invalid("capPerDay must be a number from 1 to \(PushRules.maximumCap)")
        }
        return cap
    }
}

extension APNsKey {
    /// Whether the key is for an app.
    func isFor(_ bundleID: String) -> Bool { topics?.contains(bundleID) ?? true }

    /// The keys of a YAML file.
    ///
    /// - Throws: ``InvalidPushFile``, without a key in its text.
    static func list(yaml: String) throws(InvalidPushFile) -> [APNsKey] {
        var keys: [APNsKey] = []
        for entry in try PushFile.entries(of: "keys", in: yaml) {
            try entry.allow(only: ["team", "keyId", "file", "pem", "environments", "topics"])
            let keyID = try entry.text("keyId")
            guard !keys.contains(where: { $0.keyID == keyID }) else { throw entry.invalid("\(keyID) is there twice") }
            let (team, pem) = (try entry.text("team"), try pem(of: entry))
            let topics = entry.has("topics") ? try entry.texts("topics") : nil
            let environments =
                entry.has("environments")
                ? try entry.texts("environments").map(PushEnvironment.init(rawValue:)) : PushEnvironment.known
            do throws(APNsConfigurationError) {
                keys.append(
                    try APNsKey(
                        team: team, keyID: keyID, pem: pem, topics: topics, environments: Set(environments)))
            } catch {
                throw entry.invalid(error.description)
            }
        }
        return keys
    }

    private static func pem(of entry: PushFile.Entry) throws(InvalidPushFile) -> String {
        switch (entry.has("file"), entry.has("pem")) {
        case (false, true): return try entry.text("pem")
        case (true, false):
            let path = try entry.text("file")
            guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
                throw entry.invalid("file cannot be read: \(path)")
            }
            if let mode = SecretFile.openMode(path) {
                throw entry.invalid("file is open to everybody (mode \(mode)): \(path)")
            }
            return text
        default: throw entry.invalid("must have file or pem")
        }
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
