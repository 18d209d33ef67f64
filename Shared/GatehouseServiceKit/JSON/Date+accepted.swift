public import Foundation
import GatehouseBytes

/// The only ways to read a time that another party has written. They accept the years 1970 to 9999
/// (``UTCTime/accepted``), so that each time that passes can be stored, compared and written as text.
extension Date {
    /// Bytes of a time in ISO 8601. The longest spelling that is read has 25.
    private static let maximumLength = 32

    /// Reads a time in ISO 8601, such as `2026-11-20T12:00:00Z`.
    public init?(accepting text: String) {
        guard text.utf8.count <= Self.maximumLength, let date = try? Date(text, strategy: .iso8601), date.isAccepted
        else { return nil }
        self = date
    }

    /// Converts seconds since 1970.
    public init?(accepting secondsSince1970: Int64) {
        guard UTCTime.accepted.contains(secondsSince1970) else { return nil }
        self.init(timeIntervalSince1970: TimeInterval(secondsSince1970))
    }

    /// Whether the time is of the years 1970 to 9999.
    var isAccepted: Bool {
        (TimeInterval(UTCTime.accepted.lowerBound)..<TimeInterval(UTCTime.accepted.upperBound + 1))
            .contains(timeIntervalSince1970)
    }
}
