import Foundation

extension TimeZoneDatabase {
    /// This machine's time zone database; where there is none, the names that Foundation knows.
    static func system(database: String = "/usr/share/zoneinfo/tzdata.zi") -> TimeZoneDatabase {
        if let text = try? String(contentsOfFile: database, encoding: .utf8) {
            let names = TimeZoneDatabase(zic: text)
            if !names.isEmpty { return names }
        }
        return TimeZoneDatabase(TimeZone.knownTimeZoneIdentifiers)
    }
}
