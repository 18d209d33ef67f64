import CLibpq

/// What libpq is told of a connection, by its keywords.
enum LibpqOptions {
    /// What a URL says; `nil` where libpq cannot read it.
    static func of(url: String) -> [String: String]? {
        guard url.hasPrefix("postgres://") || url.hasPrefix("postgresql://"), !url.utf8.contains(0),
            let options = PQconninfoParse(url, nil)
        else { return nil }
        return values(options) { $0.val }
    }

    /// What the environment says, and the file that `PGSERVICE` names: libpq goes by it wherever a URL is silent.
    static func ofEnvironment() -> [String: String] {
        guard let options = PQconndefaults() else { return [:] }
        return values(options) { option in
            let isDefault = option.val.map { String(cString: $0) } == option.compiled.map { String(cString: $0) }
            return isDefault ? nil : option.val
        }
    }

    /// - Parameter options: libpq's list, which ends with an entry without keyword and is freed here.
    private static func values(
        _ options: UnsafeMutablePointer<PQconninfoOption>,
        _ value: (PQconninfoOption) -> UnsafeMutablePointer<CChar>?
    ) -> [String: String] {
        defer { PQconninfoFree(options) }
        var values: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = value(option.pointee) { values[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return values
    }
}
