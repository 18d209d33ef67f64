import Foundation
import GatehouseServiceContracts
import Testing

@testable import DevicesService

@Suite struct RecipientTimingTests {
    /// With daylight saving of an hour, of half an hour, at midnight, and without.
    private static let zones = [
        "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Africa/Cairo",
        "Asia/Kathmandu", "Pacific/Kiritimati", "Etc/GMT+12", "GMT+0200", "UTC",
    ]

    private func date(_ text: String) throws -> Date { try Date(text, strategy: .iso8601) }

    private func hours(_ from: String, _ to: String) throws -> QuietHours {
        try #require(QuietHours(from: from, to: to))
    }

    // MARK: - Texts

    @Test func localTimesAreExact() throws {
        for text in ["2026-12-24T09:00:00", "2028-02-29T23:59:59", "1970-01-01T00:00:00", "9999-12-31T23:59:59"] {
            #expect(try #require(LocalTime(text)).text == text)
        }
        #expect(LocalTime("2026-12-24T09:00:00")?.seconds == 1_798_102_800)
        for text in [
            "", "2026-12-24", "2026-12-24T09:00", "2026-12-24T09:00:00Z", "2026-02-29T09:00:00", "2026-13-01T09:00:00",
            "2026-12-24T24:00:00", "2026-12-24T09:60:00", "2026-12-24T09:00:60", "2026-12-24 09:00:00",
            "2026-12-24T9:00:00 ", "+026-12-24T09:00:00", "2026-12-24t09:00:00",
            "1969-12-31T23:59:59", "0000-01-01T00:00:00",
        ] {
            #expect(LocalTime(text) == nil, "\(text)")
        }
    }

    @Test func clockTimesAreExact() {
        for (text, minutes) in [("00:00", 0), ("07:00", 420), ("23:59", 1439)] {
            #expect(ClockTime(text)?.minutes == Int16(minutes))
        }
        for text in ["", "7:00", "24:00", "07:60", "07:00:00", "+7:00", "07.00", "７:00", " 7:00"] {
            #expect(ClockTime(text) == nil, "\(text)")
        }
        #expect(ClockTime(minutes: 1440) == nil && ClockTime(minutes: -1) == nil)
        #expect(QuietHours(from: "07:00", to: "07:00") == nil)
    }

    @Test func zonesAreThoseOfTheEarth() {
        for zone in Self.zones { #expect(WallClock(zone: zone) != nil, "\(zone)") }
        for zone in ["", "Mars/Base", "GMT+1800", "GMT-1300", "Europe"] { #expect(WallClock(zone: zone) == nil) }
    }

    // MARK: - Wall clocks

    /// Every quarter of an hour of two years.
    @Test(arguments: zones)
    func aClockShowsEachInstant(_ zone: String) throws {
        let clock = try #require(WallClock(zone: zone))
        let start = try date("2026-01-01T00:00:00Z")
        var repeated = 0
        for quarter in 0..<2 * 365 * 96 {
            let instant = start + Double(quarter) * 900
            let instants = clock.instants(of: clock.time(at: instant))
            repeated += instants.count - 1
            guard instants.contains(instant), instants == instants.sorted(), (1...2).contains(instants.count) else {
                Issue.record("\(zone) \(instant) \(instants)")
                return
            }
        }
        let hasHour = ["Europe/Berlin", "America/New_York", "America/Havana", "Africa/Cairo"].contains(zone)
        #expect(repeated == (hasHour ? 16 : zone == "Australia/Lord_Howe" ? 8 : 0))
    }

    @Test(
        arguments: [
            ("Europe/Berlin", "2026-12-24T09:00:00", ["2026-12-24T08:00:00Z"]),
            // Skipped, then repeated.
            ("Europe/Berlin", "2026-03-29T02:30:00", ["2026-03-29T01:30:00Z"]),
            ("Europe/Berlin", "2026-03-29T02:00:00", ["2026-03-29T01:00:00Z"]),
            ("Europe/Berlin", "2026-03-29T03:00:00", ["2026-03-29T01:00:00Z"]),
            ("Europe/Berlin", "2026-10-25T02:30:00", ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]),
            ("Europe/Berlin", "2026-10-25T03:00:00", ["2026-10-25T02:00:00Z"]),
            ("America/New_York", "2026-03-08T02:15:00", ["2026-03-08T07:15:00Z"]),
            ("America/New_York", "2026-11-01T01:15:00", ["2026-11-01T05:15:00Z", "2026-11-01T06:15:00Z"]),
            ("Australia/Lord_Howe", "2026-10-04T02:15:00", ["2026-10-03T15:45:00Z"]),
            ("Australia/Lord_Howe", "2026-04-05T01:45:00", ["2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z"]),
            // Samoa skipped a day.
            ("Pacific/Apia", "2011-12-30T09:00:00", ["2011-12-30T19:00:00Z"]),
            ("Pacific/Kiritimati", "2026-12-24T09:00:00", ["2026-12-23T19:00:00Z"]),
            ("Etc/GMT+12", "2026-12-24T09:00:00", ["2026-12-24T21:00:00Z"]),
        ])
    func clocksAreSetForwardAndBack(_ zone: String, _ time: String, _ expected: [String]) throws {
        let clock = try #require(WallClock(zone: zone))
        #expect(clock.instants(of: try #require(LocalTime(time))) == (try expected.map(date)))
    }

    // MARK: - Quiet hours

    @Test(
        arguments: [
            ("22:00", "07:00", "UTC", "2026-05-01T21:59:59Z", nil),
            ("22:00", "07:00", "UTC", "2026-05-01T22:00:00Z", "2026-05-02T07:00:00Z"),
            ("22:00", "07:00", "UTC", "2026-05-01T00:00:00Z", "2026-05-01T07:00:00Z"),
            ("22:00", "07:00", "UTC", "2026-05-01T06:59:59Z", "2026-05-01T07:00:00Z"),
            ("22:00", "07:00", "UTC", "2026-05-01T07:00:00Z", nil),
            ("12:00", "14:30", "UTC", "2026-05-01T12:00:00Z", "2026-05-01T14:30:00Z"),
            ("12:00", "14:30", "UTC", "2026-05-01T14:30:00Z", nil),
            ("00:00", "06:00", "UTC", "2026-05-01T00:00:00Z", "2026-05-01T06:00:00Z"),
            ("18:00", "00:00", "UTC", "2026-05-01T23:59:59Z", "2026-05-02T00:00:00Z"),
            ("18:00", "00:00", "UTC", "2026-05-01T00:00:00Z", nil),
            ("22:00", "07:00", "Asia/Kathmandu", "2026-05-01T16:15:00Z", "2026-05-02T01:15:00Z"),
            // A night of eight hours, and one of ten.
            ("22:00", "07:00", "Europe/Berlin", "2026-03-28T21:00:00Z", "2026-03-29T05:00:00Z"),
            ("22:00", "07:00", "Europe/Berlin", "2026-10-24T20:00:00Z", "2026-10-25T06:00:00Z"),
            // The end is skipped, then repeated.
            ("22:00", "02:30", "Europe/Berlin", "2026-03-29T00:59:59Z", "2026-03-29T01:30:00Z"),
            ("22:00", "02:30", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z"),
            ("22:00", "02:30", "Europe/Berlin", "2026-10-25T00:45:00Z", nil),
            ("22:00", "02:30", "Europe/Berlin", "2026-10-25T01:15:00Z", "2026-10-25T01:30:00Z"),
            ("02:45", "02:15", "Europe/Berlin", "2026-10-25T00:50:00Z", "2026-10-25T01:15:00Z"),
            ("22:00", "07:00", "Pacific/Apia", "2011-12-30T09:00:00Z", "2011-12-30T17:00:00Z"),
        ] as [(String, String, String, String, String?)])
    func quietHoursEnd(_ from: String, _ to: String, _ zone: String, _ now: String, _ end: String?) throws {
        let clock = try #require(WallClock(zone: zone))
        #expect(try hours(from, to).end(at: date(now), on: clock) == (try end.map(date)))
    }

    /// Each instant of a year is either not quiet, or waits for the next that is not.
    @Test(arguments: zones)
    func everyQuietInstantEnds(_ zone: String) throws {
        let clock = try #require(WallClock(zone: zone))
        let start = try date("2026-01-01T00:00:00Z")
        for (from, to) in [("22:00", "07:00"), ("12:15", "14:30"), ("23:15", "23:45"), ("07:15", "07:00")] {
            let hours = try hours(from, to)
            var expected: Date?
            // From the last to the first, so that the next instant that is not quiet is known.
            for quarter in (0..<365 * 96).reversed() {
                let instant = start + Double(quarter) * 900
                let isQuiet = hours.contains(clock.time(at: instant))
                let end = hours.end(at: instant, on: clock)
                if !isQuiet { expected = instant }
                guard isQuiet == (end != nil), expected == nil || !isQuiet || end == expected else {
                    Issue.record("\(zone) \(from) \(to) \(instant): \(String(describing: end))")
                    break
                }
            }
        }
    }

    // MARK: - Recipients

    @Test func theDevicesZoneComesFirst() throws {
        let now = try date("2026-12-24T00:00:00Z")
        var timing = RecipientTiming()
        timing.sendAt = LocalTime("2026-12-24T09:00:00")
        #expect(timing.wait(in: "Asia/Tokyo", at: now) == nil)
        #expect(timing.wait(in: "Asia/Tokyo", at: now - 1)?.until == now)
        #expect(try timing.wait(in: nil, at: now)?.until == date("2026-12-24T09:00:00Z"))
        timing.fallbackTimeZone = "America/New_York"
        for unknown in [nil, "Mars/Base", "GMT+1800"] {
            let wait = timing.wait(in: unknown, at: now)
            #expect(try wait?.until == date("2026-12-24T14:00:00Z") && wait?.reason == .sendAtLocal)
        }
        #expect(try timing.wait(in: "Europe/Berlin", at: now)?.until == date("2026-12-24T08:00:00Z"))
    }

    @Test func quietHoursFollowTheTimeOfSending() throws {
        let now = try date("2026-12-24T00:00:00Z")
        var timing = RecipientTiming()
        #expect(timing.wait(in: "UTC", at: now) == nil)
        timing.quietHours = try hours("22:00", "07:00")
        #expect(try timing.wait(in: "UTC", at: now)?.until == date("2026-12-24T07:00:00Z"))
        #expect(timing.wait(in: "UTC", at: now)?.reason == .quietHours)
        #expect(timing.wait(in: "Asia/Tokyo", at: now) == nil)
        timing.sendAt = LocalTime("2026-12-24T23:00:00")
        let due = try date("2026-12-24T23:00:00Z")
        #expect(timing.wait(in: "UTC", at: now)?.until == due)
        #expect(timing.wait(in: "UTC", at: due)?.reason == .quietHours)
        #expect(timing.wait(in: "UTC", at: due + 8 * 3600) == nil)
    }

    /// Each kind of push with what the caller and the request say.
    @Test(arguments: PushType.allCases)
    func callersHaveQuietHoursForAlerts(_ type: PushType) throws {
        let caller = PushCaller(
            name: "news", bundleIDs: [], types: [], quietHours: try hours("22:00", "07:00"), capPerDay: 1)
        var request = PushRequest(targets: .init(), bundleId: "a", pushType: type)
        func quietHours() -> QuietHours? {
            RecipientTiming(of: request, caller: caller) { Issue.record("\($0) \($1)") }.quietHours
        }
        #expect(quietHours() == (type == .alert ? caller.quietHours : nil))
        request.ignoreQuietHours = true
        #expect(quietHours() == nil)
        request.ignoreQuietHours = false
        request.quietHours = .init(from: "12:00", to: "13:00")
        #expect(quietHours() == QuietHours(from: "12:00", to: "13:00"))
    }
}
