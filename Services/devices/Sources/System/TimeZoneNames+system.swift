import Foundation

extension TimeZoneNames {
    /// The names that this machine's time zone database has; those that Foundation lists where there is none.
    static func system(database: String = "/usr/share/zoneinfo/tzdata.zi") -> TimeZoneNames {
        if let text = try? String(contentsOfFile: database, encoding: .utf8) {
            let names = TimeZoneNames(zic: text)
            if !names.isEmpty { return names }
        }
        return TimeZoneNames(TimeZone.knownTimeZoneIdentifiers)
    }
}
