public import Foundation

/// The settings of one service: environment variables and, beneath them, an optional YAML or JSON file named by
/// `<SERVICE>_CONFIG_FILE`.
///
/// A key is written in camel case (`accessTokenLifetime`); it stands in the environment under the service's prefix
/// (`TOKENS_ACCESS_TOKEN_LIFETIME`) and in the file below the service's name (`tokens.accessTokenLifetime`).
///
/// Nothing throws while values are read: a missing or wrong value is noted, a placeholder is returned, and
/// ``finish()`` tells of everything at once. Every key must be read on every path, since a name nobody asked for is
/// refused as unknown. An instance belongs to the task that reads the configuration.
///
/// Not over swift-configuration: its readers throw at the first fault and tell of no unknown names, so all that they
/// would do here is look in two dictionaries.
public final class Settings {
    /// Where the service runs. Production unless said otherwise, so that nothing is lenient by oversight.
    public enum Environment: String, CaseIterable, Sendable {
        case production
        case development
    }

    /// The service's name, as in `apple-simulator`.
    public let service: String
    public private(set) var environment = Environment.production
    /// Whether rate and attempt limits are in force; off only for load tests, never in production.
    public private(set) var rateLimitsEnabled = true
    /// How long a request waits for PostgreSQL or for another service; it is answered `UNAVAILABLE` then. 1.5 s unless
    /// `GATEHOUSE_PATIENCE_MS` says otherwise, at most a minute.
    public private(set) var patience = Duration.milliseconds(1500)

    let variables: [String: String]
    let file: SettingsFile
    var requested: [SettingName] = []
    private(set) var problems: [SettingsError.Problem] = []

    /// - Parameters:
    ///   - service: the service's name; decides the prefix.
    ///   - environment: the process' environment; another one in tests.
    public init(service: String, environment variables: [String: String] = ProcessInfo.processInfo.environment) {
        self.service = service
        // An empty variable is as if absent: compose files pass on what is not set in this form.
        self.variables = variables.filter { !$0.value.isEmpty }
        let fileName = SettingName(service: service, key: "configFile").variable
        file = SettingsFile(path: self.variables[fileName])
        if let message = file.problem {
            problems.append(.init(name: fileName, message: message))
        }
        requested.append(SettingName(service: service, key: "configFile"))
        self.environment = choice(SettingName(service: "gatehouse", key: "environment"), default: .production)
        let limits = choice(SettingName(service: "gatehouse", key: "rateLimits"), default: Switch.on)
        rateLimitsEnabled = limits == .on
        if limits == .off && self.environment == .production {
            note("GATEHOUSE_RATE_LIMITS", "must not be off in production")
        }
        let milliseconds = int(SettingName(service: "gatehouse", key: "patienceMs"), default: 1500, in: 100...60_000)
        patience = .milliseconds(milliseconds)
    }

    enum Switch: String, CaseIterable {
        case on
        case off
    }

    /// Notes that the value of `key` is wrong.
    ///
    /// - Parameter message: what is wrong, without the value where that is a secret.
    public func problem(_ key: String, _ message: String) {
        let name = SettingName(service: service, key: key)
        problems.append(.init(name: name.description, message: message))
    }

    /// Ends the reading.
    ///
    /// - Parameter allowingUnknown: for commands that read a part of the settings only.
    /// - Throws: ``SettingsError`` with all problems found, names that nobody asked for among them.
    public func finish(allowingUnknown: Bool = false) throws(SettingsError) {
        let all = problems + (allowingUnknown ? [] : unknownNames())
        if !all.isEmpty {
            throw SettingsError(service: service, problems: all)
        }
    }

    /// What has been noted so far, for a service that cannot make its configuration from what it read.
    public var failure: SettingsError { SettingsError(service: service, problems: problems) }

    func note(_ name: String, _ message: String) {
        problems.append(.init(name: name, message: message))
    }

    /// The first of `names` that has a value; notes all of them as known.
    func first(_ names: SettingName...) -> (name: SettingName, value: String)? {
        let values = names.map { ($0, raw($0)) }
        return values.lazy.compactMap { name, value in value.map { (name, $0) } }.first
    }

    /// The value as it stands, `nil` where there is none; notes the name as known.
    func raw(_ name: SettingName) -> String? {
        requested.append(name)
        return variables[name.variable] ?? file.values[name.variable].flatMap { $0.isEmpty ? nil : $0 }
    }
}
