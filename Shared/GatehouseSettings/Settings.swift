public import Foundation

/// The settings of one service: environment variables and, beneath them, an optional YAML or JSON file named by
/// `<SERVICE>_CONFIG_FILE`.
///
/// A key is written in camel case (`accessTokenLifetime`). Its name in the environment has the service's prefix
/// (`TOKENS_ACCESS_TOKEN_LIFETIME`). In the file it is below the service's name (`tokens.accessTokenLifetime`).
///
/// Reading a value never throws: a missing or wrong value is recorded, a placeholder is returned, and ``finish()``
/// reports all problems at once. Reading also declares the setting. So every key must be read on every path: a name
/// that was not read is refused as unknown, and `<service> describe`, which reads without values, would not list it. An
/// instance belongs to the task that reads the configuration.
///
/// swift-configuration is not used: its readers throw at the first problem and do not report unknown names, so only
/// lookups in two dictionaries would remain.
public final class Settings {
    /// The environment of the service. The default is production, so that no check is lenient by mistake.
    public enum Environment: String, CaseIterable, Sendable {
        case production
        case development
    }

    /// The service's name, as in `apple-simulator`.
    public let service: String
    public private(set) var environment = Environment.production
    /// Whether rate and attempt limits are in force; off only for load tests, never in production.
    public private(set) var rateLimitsEnabled = true
    /// The timeout of a request for PostgreSQL or for another service, after which it is answered `UNAVAILABLE`.
    /// `GATEHOUSE_PATIENCE_MS`, default 1.5 s, at most a minute.
    public private(set) var dependencyTimeout = Duration.milliseconds(1500)

    let variables: [String: String]
    let file: SettingsFile
    /// Every setting that was read, in that order. Two declarations of one name are a defect.
    package private(set) var declarations: [SettingDeclaration] = []
    private(set) var problems: [SettingsError.Problem] = []

    /// - Parameters:
    ///   - service: the service's name; determines the prefix.
    ///   - environment: the environment of the process, or a test's own.
    public init(service: String, environment variables: [String: String] = ProcessInfo.processInfo.environment) {
        self.service = service
        // An empty variable counts as absent, because compose files pass unset variables as empty ones.
        self.variables = variables.filter { !$0.value.isEmpty }
        let fileName = SettingName(service: service, key: "configFile")
        file = SettingsFile(path: self.variables[fileName.variable])
        declarations.append(SettingDeclaration(fileName, .path, "file of settings"))
        if let message = file.problem {
            problems.append(.init(name: fileName.variable, message: message))
        }
        self.environment = choice(
            .gatehouse("environment"), default: .production,
            "`production` refuses development keys and secrets")
        let limits = choice(
            .gatehouse("rateLimits"), default: Switch.on,
            "`off` disables rate and attempt limits for load tests. Refused in production")
        rateLimitsEnabled = limits == .on
        if limits == .off && self.environment == .production {
            note("GATEHOUSE_RATE_LIMITS", "must not be off in production")
        }
        let milliseconds = int(
            .gatehouse("patienceMs"), default: 1500, in: 100...60_000, unit: "milliseconds",
            """
            timeout of a request for PostgreSQL, after which it is answered `UNAVAILABLE`. Calls to another service \
            time out 300 ms later. The gateway waits 3.5 s longer on Gatehouse's own routes
            """)
        dependencyTimeout = .milliseconds(milliseconds)
    }

    enum Switch: String, CaseIterable {
        case on
        case off
    }

    /// Records that the value of `key` is wrong.
    ///
    /// - Parameter message: the problem, without the value if that is a secret.
    public func problem(_ key: String, _ message: String) {
        note(SettingName(service: service, key: key).description, message)
    }

    /// Reports all problems, after everything was read.
    ///
    /// - Parameter allowingUnknown: for commands that read a part of the settings only.
    /// - Throws: ``SettingsError`` with all problems, unknown names included.
    public func finish(allowingUnknown: Bool = false) throws(SettingsError) {
        let all = problems + (allowingUnknown ? [] : unknownNames())
        if !all.isEmpty {
            throw SettingsError(service: service, problems: all)
        }
    }

    /// The problems so far, for a service that cannot create its configuration from the values.
    public var failure: SettingsError { SettingsError(service: service, problems: problems) }

    /// A problem of a setting that is read twice is recorded once.
    func note(_ name: String, _ message: String) {
        let problem = SettingsError.Problem(name: name, message: message)
        if !problems.contains(problem) { problems.append(problem) }
    }

    /// Declares a setting and reads it.
    ///
    /// - Returns: the value's text. `nil` if the setting is missing, which is recorded if it is required.
    func text(of declaration: SettingDeclaration) -> String? {
        if !declarations.contains(declaration) { declarations.append(declaration) }
        let name = declaration.name
        let text = variables[name.variable] ?? file.values[name.variable].flatMap { $0.isEmpty ? nil : $0 }
        if text == nil, declaration.isRequired { note(name.description, "is not set") }
        return text
    }
}

/// A setting's name in its two spellings.
package struct SettingName: Hashable, CustomStringConvertible {
    /// In the environment: `APPLE_SIMULATOR_LISTEN_ADDRESS`.
    package let variable: String
    /// In the file: `appleSimulator.listenAddress`.
    package let path: String

    package init(service: String, key: String) {
        variable = "\(Self.prefix(of: service))\(Self.upperSnake(key))"
        path = "\(Self.camelCase(service)).\(key)"
    }

    /// A setting of every service: `GATEHOUSE_LOG_LEVEL`.
    package static func gatehouse(_ key: String) -> SettingName { SettingName(service: "gatehouse", key: key) }

    package var description: String { "\(variable) (\(path) in the file)" }

    static func prefix(of service: String) -> String {
        service.uppercased().replacingOccurrences(of: "-", with: "_") + "_"
    }

    /// `databaseURL` becomes `DATABASE_URL`: a word begins where an upper-case letter follows a lower-case one.
    static func upperSnake(_ key: String) -> String {
        var name = ""
        var previous: Character?
        for character in key {
            if let previous, previous.isLowercase, character.isUppercase { name.append("_") }
            name.append(character.isLetter || character.isNumber ? Character(character.uppercased()) : "_")
            previous = character
        }
        return name
    }

    private static func camelCase(_ service: String) -> String {
        let words = service.split(separator: "-")
        return words.dropFirst().reduce(String(words.first ?? "")) { $0 + $1.capitalized }
    }
}

/// All problems of a service's settings.
public struct SettingsError: Error, Sendable, CustomStringConvertible {
    /// One setting and its problem.
    public struct Problem: Sendable, Equatable {
        /// The name in the environment, with the key in the file, if any.
        public let name: String
        public let message: String
    }

    public let service: String
    public let problems: [Problem]

    /// One line for each problem, without secrets.
    public var description: String {
        problems.map { "\(service): \($0.name) \($0.message)" }.joined(separator: "\n")
    }
}

extension Settings {
    /// Names under the service's prefix, under `GATEHOUSE_` and in the file that the service did not read.
    func unknownNames() -> [SettingsError.Problem] {
        let known = Set(declarations.map(\.name.variable))
        let prefix = SettingName.prefix(of: service)
        let inEnvironment = variables.keys.filter { name in
            (name.hasPrefix(prefix) || name.hasPrefix("GATEHOUSE_")) && !known.contains(name) && !isTolerated(name)
        }
        // One file may serve several services, so keys below another service's name are ignored.
        let inFile = file.values.keys.filter { name in
            (name.hasPrefix(prefix) || name.hasPrefix("GATEHOUSE_") || !isForAnotherService(name))
                && !known.contains(name)
        }
        return inEnvironment.sorted().map { name in
            .init(name: name, message: "is not a setting" + suggestion(for: name, among: known))
        }
            + inFile.sorted().map { name in
                let nearest = nearestName(to: name, among: known)
                let path = declarations.first { $0.name.variable == nearest }?.name.path
                return .init(
                    name: "\(file.paths[name] ?? name) in the file",
                    message: "is not a setting" + (path.map { "; did you mean \($0)?" } ?? ""))
            }
    }

    private func suggestion(for name: String, among known: Set<String>) -> String {
        nearestName(to: name, among: known).map { "; did you mean \($0)?" } ?? ""
    }

    private func nearestName(to name: String, among known: Set<String>) -> String? {
        known.map { (name: $0, distance: editDistance(name, $0)) }
            .min { ($0.distance, $0.name) < ($1.distance, $1.name) }
            .flatMap { $0.distance <= max(3, name.count / 3) ? $0.name : nil }
    }

    private func isForAnotherService(_ name: String) -> Bool {
        Self.services.contains { $0 != service && name.hasPrefix(SettingName.prefix(of: $0)) }
    }

    /// Names in the environment that are not settings but are accepted: those of `.local/env`, of images, of the test
    /// and run scripts, and the links that Kubernetes adds for a Kubernetes service of the same name.
    private func isTolerated(_ name: String) -> Bool {
        if name.hasPrefix("GATEHOUSE_TEST_") { return true }
        if ["GATEHOUSE_PORT_BASE", GatehouseVersion.revisionVariable].contains(name) { return true }
        let prefix = SettingName.prefix(of: service)
        guard name.hasPrefix(prefix) else { return false }
        let rest = name.dropFirst(prefix.count)
        return ["URL", "ADMIN_URL", "PID", "SERVICE_HOST", "PORT"].contains(rest)
            || rest.hasPrefix("SERVICE_PORT") || rest.hasPrefix("PORT_")
    }

    private static let services = ["gateway", "identity", "tokens", "devices", "apple-simulator"]
}

/// The least number of insertions, deletions and replacements that turn one text into the other.
func editDistance(_ first: String, _ second: String) -> Int {
    let second = Array(second.utf8)
    var row = Array(0...second.count)
    for (index, byte) in first.utf8.enumerated() {
        var diagonal = row[0]
        row[0] = index + 1
        for column in second.indices {
            let replaced = diagonal + (byte == second[column] ? 0 : 1)
            diagonal = row[column + 1]
            row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
        }
    }
    return row[second.count]
}
