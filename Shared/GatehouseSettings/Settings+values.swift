public import Foundation

// Reads typed values. Every function declares the setting, records problems and returns a placeholder, so that all
// problems are reported at once.
//
// The last argument of each is what the setting is for, in words that `<service> describe` prints.
extension Settings {
    /// Text. Without a default it must be set.
    public func string(
        _ key: String, default defaultValue: String? = nil, secret: Bool = false, _ meaning: String = ""
    ) -> String {
        credential(
            of: SettingDeclaration(
                name(key), .text, meaning, default: defaultValue, isRequired: defaultValue == nil, isSecret: secret))
            ?? defaultValue ?? ""
    }

    /// Text that may be missing.
    public func optionalString(_ key: String, secret: Bool = false, _ meaning: String = "") -> String? {
        credential(of: SettingDeclaration(name(key), .text, meaning, isSecret: secret))
    }

    /// As `text(of:)`. In production a secret made for development is recorded as a problem.
    private func credential(of declaration: SettingDeclaration) -> String? {
        let text = text(of: declaration)
        if declaration.isSecret, environment == .production, let text,
            split(text).contains(where: DevelopmentSecret.isMarked(_:))
        {
            note(declaration.name.description, "holds a secret made for development")
        }
        return text
    }

    /// A secret, which is never printed. In production a secret made for development (`dev-…`) is refused.
    public func secret(_ key: String, _ meaning: String = "") -> String {
        string(key, secret: true, meaning)
    }

    /// One or several secrets, separated by commas.
    public func secrets(_ key: String, _ meaning: String = "") -> [String] {
        split(credential(of: SettingDeclaration(name(key), .list, meaning, isRequired: true, isSecret: true)) ?? "")
    }

    /// As ``secrets(_:_:)``, for a setting that may be missing.
    public func optionalSecrets(_ key: String, _ meaning: String = "") -> [String] {
        split(credential(of: SettingDeclaration(name(key), .list, meaning, isSecret: true)) ?? "")
    }

    /// Several values, separated by commas.
    public func strings(_ key: String, default defaultValue: [String]? = nil, _ meaning: String = "") -> [String] {
        let defaultText = defaultValue.flatMap { $0.isEmpty ? nil : $0.joined(separator: ",") }
        let declaration = SettingDeclaration(
            name(key), .list, meaning, default: defaultText, isRequired: defaultValue == nil)
        return text(of: declaration).map(split) ?? defaultValue ?? []
    }

    /// As ``strings(_:default:_:)``, for a setting that may be missing. An empty list is not a missing one.
    public func optionalStrings(_ key: String, _ meaning: String = "") -> [String]? {
        text(of: SettingDeclaration(name(key), .list, meaning)).map(split)
    }

    /// A whole number within `range`.
    ///
    /// - Parameters:
    ///   - computation: how the default is computed, where it depends on the machine or on another setting.
    ///   - unit: as in "bytes per second".
    public func int(
        _ key: String, default defaultValue: Int? = nil, computedAs computation: String? = nil,
        in range: ClosedRange<Int> = 0...Int.max, unit: String? = nil, _ meaning: String = ""
    ) -> Int {
        int(name(key), default: defaultValue, computedAs: computation, in: range, unit: unit, meaning)
    }

    func int(
        _ name: SettingName, default defaultValue: Int?, computedAs computation: String? = nil,
        in range: ClosedRange<Int>, unit: String?, _ meaning: String
    ) -> Int {
        let declaration = SettingDeclaration(
            name, .integer, meaning, default: computation ?? defaultValue.map(String.init),
            isRequired: defaultValue == nil, unit: unit, range: range)
        guard let text = text(of: declaration) else { return defaultValue ?? range.lowerBound }
        guard let value = Int(text), range.contains(value) else {
            let wanted = range.upperBound == .max ? "of at least \(range.lowerBound)" : "from \(range)"
            note(name.description, "must be a whole number \(wanted), not '\(text)'")
            return range.lowerBound
        }
        return value
    }

    /// A number within `range` that may have decimals.
    ///
    /// - Parameter unit: as in "percent".
    public func number(
        _ key: String, default defaultValue: Double, in range: ClosedRange<Int>, unit: String? = nil,
        _ meaning: String = ""
    ) -> Double {
        let declaration = SettingDeclaration(
            name(key), .number, meaning, default: String(format: "%g", defaultValue), unit: unit, range: range)
        return text(of: declaration).map { number($0, in: range, of: declaration.name) ?? 0 } ?? defaultValue
    }

    /// Records a text that is no number within `range`.
    func number(_ text: String, in range: ClosedRange<Int>, of name: SettingName) -> Double? {
        if let value = Double(text), (Double(range.lowerBound)...Double(range.upperBound)).contains(value) {
            return value
        }
        note(name.description, "must be a number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
        return nil
    }

    /// A duration, written as whole seconds.
    public func seconds(
        _ key: String, default defaultValue: Int? = nil, in range: ClosedRange<Int> = 0...Int(Int32.max),
        _ meaning: String = ""
    ) -> Duration {
        .seconds(int(key, default: defaultValue, in: range, unit: "seconds", meaning))
    }

    /// `true` or `false`.
    public func bool(_ key: String, default defaultValue: Bool, _ meaning: String = "") -> Bool {
        let declaration = SettingDeclaration(name(key), .boolean, meaning, default: "\(defaultValue)")
        switch text(of: declaration) {
        case nil: return defaultValue
        case "true": return true
        case "false": return false
        case let text?:
            problem(key, "must be true or false, not '\(text)'")
            return defaultValue
        }
    }

    /// One of the spellings of `Choice`.
    public func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: String, default defaultValue: Choice, _ meaning: String = ""
    ) -> Choice {
        choice(name(key), default: defaultValue, meaning)
    }

    package func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: SettingName, default defaultValue: Choice, _ meaning: String
    ) -> Choice {
        let choices = Choice.allCases.map(\.rawValue)
        let declaration = SettingDeclaration(
            name, .choice, meaning, default: defaultValue.rawValue, choices: choices)
        guard let text = text(of: declaration) else { return defaultValue }
        guard let value = Choice(rawValue: text) else {
            note(name.description, "must be one of \(choices.joined(separator: ", ")), not '\(text)'")
            return defaultValue
        }
        return value
    }

    /// An `http` or `https` address.
    public func url(_ key: String, default defaultValue: String? = nil, _ meaning: String = "") -> URL {
        let declaration = SettingDeclaration(
            name(key), .url, meaning, default: defaultValue, isRequired: defaultValue == nil)
        return (text(of: declaration) ?? defaultValue).map { address($0, key) } ?? Self.noAddress
    }

    /// As ``url(_:default:_:)``, for a setting that may be missing.
    public func optionalURL(_ key: String, _ meaning: String = "") -> URL? {
        text(of: SettingDeclaration(name(key), .url, meaning)).map { address($0, key) }
    }

    /// One or several `http` or `https` addresses, separated by commas: the replicas of one service.
    public func urls(_ key: String, default defaultValue: String? = nil, _ meaning: String = "") -> [URL] {
        let declaration = SettingDeclaration(
            name(key), .urls, meaning, default: defaultValue, isRequired: defaultValue == nil)
        return (text(of: declaration) ?? defaultValue).map { addresses($0, key) } ?? []
    }

    /// As ``urls(_:default:_:)``, for a caller that examines each address itself.
    package func urlTexts(_ key: String, _ meaning: String) -> [String] {
        guard let text = text(of: SettingDeclaration(name(key), .urls, meaning, isRequired: true)) else { return [] }
        let texts = split(text)
        if texts.isEmpty { problem(key, "holds no address") }
        return texts
    }

    /// As ``urls(_:default:_:)``, for a setting that may be missing.
    public func optionalURLs(_ key: String, _ meaning: String = "") -> [URL] {
        text(of: SettingDeclaration(name(key), .urls, meaning)).map { addresses($0, key) } ?? []
    }

    /// The path of a file or folder that may be missing. Nothing is read there.
    public func optionalPath(_ key: String, _ meaning: String = "") -> String? {
        text(of: SettingDeclaration(name(key), .path, meaning))
    }

    /// The contents of the file that the setting names. In production a file made for development (first line `#
    /// development`) is refused.
    public func file(_ key: String, _ meaning: String = "") -> String {
        file(key, meaning, isRequired: true, isSecret: false) ?? ""
    }

    /// As ``file(_:_:)``, for a setting that may be missing.
    public func optionalFile(_ key: String, _ meaning: String = "") -> String? {
        file(key, meaning, isRequired: false, isSecret: false)
    }

    /// As ``file(_:_:)``, for a file that holds a secret: refused if every user of the system may read or write it.
    public func secretFile(_ key: String, _ meaning: String = "") -> String {
        file(key, meaning, isRequired: true, isSecret: true) ?? ""
    }

    /// As ``secretFile(_:_:)``, for a setting that may be missing.
    public func optionalSecretFile(_ key: String, _ meaning: String = "") -> String? {
        file(key, meaning, isRequired: false, isSecret: true)
    }

    private func file(_ key: String, _ meaning: String, isRequired: Bool, isSecret: Bool) -> String? {
        // The path is no secret.
        guard let path = text(of: SettingDeclaration(name(key), .path, meaning, isRequired: isRequired)) else {
            return nil
        }
        defer {
            if isSecret, let mode = SecretFile.openMode(path) {
                problem(key, "names a file that is open to everybody (mode \(mode)): \(path)")
            }
        }
        guard let contents = try? String(contentsOfFile: path, encoding: .utf8) else {
            problem(key, "names a file that cannot be read: \(path)")
            return nil
        }
        if environment == .production, DevelopmentSecret.isMarked(file: contents) {
            problem(key, "names a file made for development: \(path)")
        }
        if isRequired, contents.isEmpty { problem(key, "names a file that is empty") }
        return contents
    }

    /// Makes a value from a setting's text.
    ///
    /// - Parameters:
    ///   - text: empty if the setting is missing, which was already recorded.
    ///   - make: its error is reported with the setting, so the error must not contain a secret.
    public func read<Value>(_ key: String, from text: String, _ make: (String) throws -> Value) -> Value? {
        guard !text.isEmpty else { return nil }
        do {
            return try make(text)
        } catch {
            problem(key, "\(error)")
            return nil
        }
    }

    /// A host and port to listen on (`127.0.0.1:8080`, `[::1]:8080`); port 0 selects any free one.
    public func listenAddress(
        _ key: String, default defaultValue: ListenAddress, _ meaning: String = ""
    ) -> ListenAddress {
        let declaration = SettingDeclaration(name(key), .address, meaning, default: "\(defaultValue)")
        guard let text = text(of: declaration) else { return defaultValue }
        guard let address = ListenAddress(text) else {
            problem(key, "must be an address and a port, as in 127.0.0.1:8080, not '\(text)'")
            return defaultValue
        }
        return address
    }

    private func name(_ key: String) -> SettingName { SettingName(service: service, key: key) }

    private func split(_ text: String) -> [String] {
        text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    private func address(_ text: String, _ key: String) -> URL { address(text, name(key)) ?? Self.noAddress }

    func address(_ text: String, _ name: SettingName) -> URL? {
        guard let url = URL(string: text), let parts = URLComponents(string: text), let scheme = parts.scheme,
            ["http", "https"].contains(scheme), parts.namesServer
        else {
            note(name.description, "must be an http or https address, not '\(text)'")
            return nil
        }
        return url
    }

    private func addresses(_ text: String, _ key: String) -> [URL] {
        let addresses = split(text).map { address($0, key) }
        if addresses.isEmpty { problem(key, "holds no address") }
        return addresses
    }

    private static var noAddress: URL { URL(filePath: "/") }
}

/// Whether a server on another machine must authenticate itself by TLS.
enum TransportSecurity: String, CaseIterable {
    /// TLS and a verified certificate are required, except for servers on this machine.
    case required
    /// The address decides.
    case optional
}

extension Settings {
    /// Reports an address on another machine without TLS that authenticates the server, unless a setting allows it:
    /// `<SERVICE>_DATABASE_TLS` for `<SERVICE>_DATABASE_URL`. The default is `required` in production and `optional` in
    /// development.
    ///
    /// - Parameters:
    ///   - key: the key of the address.
    ///   - isProtected: whether the address is on this machine or requires a verified certificate.
    ///   - remedy: how to require a certificate in such an address.
    public func requireTLS(of key: String, by tlsKey: String, isProtected: Bool, remedy: String) {
        let security = choice(
            tlsKey, default: environment == .production ? TransportSecurity.required : .optional,
            """
            `required`: an address on another machine must use TLS with a verified certificate (\(remedy)). \
            `optional`: an address without TLS is accepted, in production too
            """)
        guard security == .required, !isProtected else { return }
        problem(
            key,
            """
            is on another machine without TLS that authenticates the server: \(remedy), or set \(name(tlsKey)) to \
            optional
            """)
    }
}
