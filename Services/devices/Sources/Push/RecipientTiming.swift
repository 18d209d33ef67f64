// Pure: no I/O, no clock.

import Foundation
import GatehouseBytes
import GatehouseServiceContracts

/// A date and time on a wall clock, such as `2026-12-24T09:00:00`.
struct LocalTime: Sendable, Equatable {
    /// Seconds since 1970, as if it were UTC.
    let seconds: Int64

    init(seconds: Int64) {
        self.seconds = seconds
    }

    init?(_ text: String) {
        guard text.utf8.count == 19, let date = try? Date(text + "Z", strategy: .iso8601),
            let seconds = Int64(exactly: date.timeIntervalSince1970), UTCTime.accepted.contains(seconds)
        else { return nil }
        self.seconds = seconds
        // Foundation reads 30 February as a day in March.
        guard self.text.utf8.elementsEqual(text.utf8) else { return nil }
    }

    var text: String { String(UTCTime(secondsSince1970: seconds).rfc3339.dropLast()) }

    fileprivate var secondOfDay: Int64 {
        let rest = seconds % 86_400
        return rest < 0 ? rest + 86_400 : rest
    }
}

/// A time of day, such as `22:00`.
struct ClockTime: Sendable, Equatable {
    /// After midnight.
    let minutes: Int16

    init?(minutes: Int16) {
        guard (0..<1440).contains(minutes) else { return nil }
        self.minutes = minutes
    }

    init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == UInt8(ascii: ":"), (bytes[..<2] + bytes[3...]).allSatisfy(\.isASCIIDigit),
            let hours = Int16(text.prefix(2)), let minutes = Int16(text.suffix(2)), hours < 24, minutes < 60
        else { return nil }
        self.minutes = hours * 60 + minutes
    }
}

/// The wall clock of a time zone.
struct WallClock: Sendable {
    /// Seconds east of UTC, of all time zones today.
    static let offsets: ClosedRange<TimeInterval> = -12 * 3600...14 * 3600
    static let utc = WallClock(.gmt)

    private let zone: TimeZone

    private init(_ zone: TimeZone) {
        self.zone = zone
    }

    /// `nil` for a name that this machine's Foundation does not know: a phone's database may be newer.
    init?(zone name: String) {
        guard let zone = TimeZone(identifier: name),
            Self.offsets.contains(Double(zone.secondsFromGMT(for: Date(timeIntervalSinceReferenceDate: 0))))
        else { return nil }
        self.zone = zone
    }

    func time(at date: Date) -> LocalTime {
        LocalTime(seconds: Int64(date.timeIntervalSince1970.rounded(.down)) + offset(at: date))
    }

    /// When the clock shows a time, in order: mostly once, and twice when clocks are set back. A time that clocks skip
    /// has one instant too, by the offset before: 02:30 becomes 03:30. RFC 5545, §3.3.5.
    func instants(of time: LocalTime) -> [Date] {
        func instant(_ offset: Int64) -> Date { Date(timeIntervalSince1970: Double(time.seconds - offset)) }
        let before = offset(at: instant(86_400))
        let after = offset(at: instant(-86_400))
        let instants = (before == after ? [before] : [before, after])
            .filter { offset(at: instant($0)) == $0 }.map(instant)
        return instants.isEmpty ? [instant(before)] : instants.sorted()
    }

    private func offset(at date: Date) -> Int64 { Int64(zone.secondsFromGMT(for: date)) }
}

/// Times of day at which nothing is shown: `from` until before `to`, or until the next day's `to` if `from` is later.
struct QuietHours: Sendable, Equatable {
    let from: ClockTime
    let to: ClockTime

    /// `nil` if they are equal.
    init?(from: ClockTime, to: ClockTime) {
        guard from != to else { return nil }
        self.from = from
        self.to = to
    }

    init?(from: String, to: String) {
        guard let from = ClockTime(from), let to = ClockTime(to) else { return nil }
        self.init(from: from, to: to)
    }

    func contains(_ time: LocalTime) -> Bool {
        let minutes = Int16(time.secondOfDay / 60)
        return from.minutes < to.minutes
            ? (from.minutes..<to.minutes).contains(minutes) : minutes >= from.minutes || minutes < to.minutes
    }

    /// When the quiet hours end in which a date is; `nil` if it is in none.
    func end(at date: Date, on clock: WallClock) -> Date? {
        let time = clock.time(at: date)
        guard contains(time) else { return nil }
        let end = time.seconds - time.secondOfDay + Int64(to.minutes) * 60
        return (0...2).lazy.flatMap { day in clock.instants(of: LocalTime(seconds: end + day * 86_400)) }
            .first { $0 > date && !contains(clock.time(at: $0)) }
    }
}

/// When a push may be sent to a recipient, by the clock where the device is.
struct RecipientTiming: Sendable, Equatable {
    /// Why a push waits for one recipient.
    enum Reason: String, Sendable {
        case sendAtLocal
        case quietHours
    }

    var sendAt: LocalTime?
    var quietHours: QuietHours?
    /// Of devices that have registered none that is known.
    var fallbackTimeZone: String?

    /// Until when a push waits, and why; `nil` if it may be sent.
    ///
    /// - Parameter timeZone: as the device has registered it.
    func wait(in timeZone: String?, at now: Date) -> (until: Date, reason: Reason)? {
        guard sendAt != nil || quietHours != nil else { return nil }
        let clock = [timeZone, fallbackTimeZone].lazy.compactMap { $0.flatMap(WallClock.init(zone:)) }.first ?? .utc
        if let due = sendAt.flatMap({ clock.instants(of: $0).first }), due > now { return (due, .sendAtLocal) }
        return quietHours?.end(at: now, on: clock).map { ($0, .quietHours) }
    }
}

extension RecipientTiming {
    /// - Parameters:
    ///   - caller: has quiet hours for alerts. Other pushes show nothing, or are a call.
    ///   - report: is told each field that is wrong, and what it must be.
    init(of request: PushRequest, caller: PushCaller?, report: (String, String) -> Void) {
        if let text = request.sendAtLocal {
            sendAt = LocalTime(text)
            if sendAt == nil {
                report("sendAtLocal", "Must be a time as in 2026-12-24T09:00:00, of the years 1970 to 9999.")
            }
            if request.sendAt != nil { report("sendAtLocal", "A push with sendAt cannot have this.") }
        }
        if let name = request.fallbackTimeZone {
            fallbackTimeZone = name
            if name.utf8.count > TimeZoneDatabase.maximumLength || WallClock(zone: name) == nil {
                report("fallbackTimeZone", "Must be a time zone as in Europe/Berlin.")
            }
        }
        let isIgnored = request.ignoreQuietHours ?? false
        if let hours = request.quietHours {
            quietHours = QuietHours(from: hours.from, to: hours.to)
            if quietHours == nil { report("quietHours", "Must be two different times as in 22:00.") }
            if isIgnored { report("ignoreQuietHours", "A push with quietHours cannot ignore them.") }
        } else if request.pushType == .alert, !isIgnored {
            quietHours = caller?.quietHours
        }
    }
}
