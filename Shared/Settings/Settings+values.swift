public import Foundation

// Reads typed values. Every function records problems and returns a placeholder, so that all problems are reported at
// once.
extension Settings {
    /// Text. Without a default it must be set.
    public func string(_ key: String, default defaultValue: String? = nil, secret: Bool = false) -> String {
        guard let value = optionalString(key, secret: secret) ?? defaultValue else {
            problem(key, "is not set")
            return ""
        }
        return value
    }

    /// Text that may be missing.
    public func optionalString(_ key: String, secret: Bool = false) -> String? {
        let value = raw(SettingName(service: service, key: key))
        if secret, let value { refuseDevelopmentSecret(value, key) }
        return value
    }

    /// A secret, which is never printed. In production a secret made for development (`dev-…`) is refused.
    public func secret(_ key: String) -> String {
        string(key, secret: true)
    }

    /// One or several secrets, separated by commas.
    public func secrets(_ key: String) -> [String] {
        split(string(key, secret: true))
    }

    /// As ``secrets(_:)``, for a setting that may be missing.
    public func optionalSecrets(_ key: String) -> [String] {
        split(optionalString(key, secret: true) ?? "")
    }

    /// Several values, separated by commas.
    public func strings(_ key: String, default defaultValue: [String]? = nil) -> [String] {
        guard let value = optionalString(key) else {
            if let defaultValue { return defaultValue }
            problem(key, "is not set")
            return []
        }
        return split(value)
    }

    /// A whole number within `range`.
    public func int(_ key: String, default defaultValue: Int? = nil, in range: ClosedRange<Int> = 0...Int.max) -> Int {
        int(SettingName(service: service, key: key), default: defaultValue, in: range)
    }

    func int(_ name: SettingName, default defaultValue: Int?, in range: ClosedRange<Int>) -> Int {
        guard let text = raw(name) else {
            if let defaultValue { return defaultValue }
            note(name.description, "is not set")
            return range.lowerBound
        }
        guard let value = Int(text), range.contains(value) else {
            let wanted = range.upperBound == .max ? "of at least \(range.lowerBound)" : "from \(range)"
            note(name.description, "must be a whole number \(wanted), not '\(text)'")
            return range.lowerBound
        }
        return value
    }

    /// A duration, written as whole seconds.
    public func seconds(
        _ key: String, default defaultValue: Int? = nil, in range: ClosedRange<Int> = 0...Int(Int32.max)
    ) -> Duration {
        .seconds(int(key, default: defaultValue, in: range))
    }

    /// `true` or `false`.
    public func bool(_ key: String, default defaultValue: Bool) -> Bool {
        switch optionalString(key) {
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
        _ key: String, default defaultValue: Choice
    ) -> Choice {
        choice(SettingName(service: service, key: key), default: defaultValue)
    }

    /// An `http` or `https` address.
    public func url(_ key: String, default defaultValue: String? = nil) -> URL {
        guard let text = optionalString(key) ?? defaultValue else {
            problem(key, "is not set")
            return Self.noAddress
        }
        return address(text, key)
    }

    /// One or several `http` or `https` addresses, separated by commas: the replicas of one service.
    public func urls(_ key: String, default defaultValue: String? = nil) -> [URL] {
        guard let text = optionalString(key) ?? defaultValue else {
            problem(key, "is not set")
            return []
        }
        let addresses = split(text).map { address($0, key) }
        if addresses.isEmpty { problem(key, "holds no address") }
        return addresses
    }

    /// The contents of the file that the setting names. In production a file made for development (first line `#
    /// development`) is refused.
    public func file(_ key: String) -> String {
        guard let contents = optionalFile(key) else {
            if raw(SettingName(service: service, key: key)) == nil { problem(key, "is not set") }
            return ""
        }
        if contents.isEmpty { problem(key, "names a file that is empty") }
        return contents
    }

    /// As ``file(_:)``, for a setting that may be missing.
    public func optionalFile(_ key: String) -> String? {
        guard let path = optionalString(key) else { return nil }
        guard let contents = try? String(contentsOfFile: path, encoding: .utf8) else {
            problem(key, "names a file that cannot be read: \(path)")
            return nil
        }
        if environment == .production, DevelopmentSecret.isMarked(file: contents) {
            problem(key, "names a file made for development: \(path)")
        }
        return contents
    }

    /// As ``file(_:)``, for a file that holds a secret: refused if every user of the system may read or write it.
    public func secretFile(_ key: String) -> String {
        let contents = file(key)
        refuseOpenFile(key)
        return contents
    }

    /// As ``secretFile(_:)``, for a setting that may be missing.
    public func optionalSecretFile(_ key: String) -> String? {
        let contents = optionalFile(key)
        refuseOpenFile(key)
        return contents
    }

    private func refuseOpenFile(_ key: String) {
        guard let path = optionalString(key), let mode = SecretFile.openMode(path) else { return }
        problem(key, "names a file that is open to everybody (mode \(mode)): \(path)")
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
    public func listenAddress(_ key: String, default defaultValue: ListenAddress) -> ListenAddress {
        guard let text = optionalString(key) else { return defaultValue }
        guard let address = ListenAddress(text) else {
            problem(key, "must be an address and a port, as in 127.0.0.1:8080, not '\(text)'")
            return defaultValue
        }
        return address
    }

    package func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: SettingName, default defaultValue: Choice
    ) -> Choice {
        guard let text = raw(name) else { return defaultValue }
        guard let value = Choice(rawValue: text) else {
            let choices = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            note(name.description, "must be one of \(choices), not '\(text)'")
            return defaultValue
        }
        return value
    }

    private func split(_ text: String) -> [String] {
        text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    private func address(_ text: String, _ key: String) -> URL {
        address(text, SettingName(service: service, key: key)) ?? Self.noAddress
    }

    func address(_ text: String, _ name: SettingName) -> URL? {
        guard let url = URL(string: text), let parts = URLComponents(string: text), let scheme = parts.scheme,
            ["http", "https"].contains(scheme), parts.namesServer
        else {
            note(name.description, "must be an http or https address, not '\(text)'")
            return nil
        }
        return url
    }

    private func refuseDevelopmentSecret(_ value: String, _ key: String) {
        if environment == .production, split(value).contains(where: DevelopmentSecret.isMarked(_:)) {
            problem(key, "holds a secret made for development")
        }
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
        let security = choice(tlsKey, default: environment == .production ? TransportSecurity.required : .optional)
        guard security == .required, !isProtected else { return }
        let setting = SettingName(service: service, key: tlsKey)
        problem(
            key,
            "is on another machine without TLS that authenticates the server: \(remedy), or set \(setting) to optional")
    }
}
