import Foundation
import GatehouseBytes
import Testing

@Suite struct UTCTimeTests {
    @Test func isWrittenInThreeWays() {
        let epoch = UTCTime(secondsSince1970: 0)
        #expect(epoch.rfc3339 == "1970-01-01T00:00:00Z")
        #expect(epoch.rfc3339(microseconds: 0) == "1970-01-01T00:00:00.000000Z")
        #expect(epoch.imfFixdate == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(UTCTime(secondsSince1970: 1_795_176_000).rfc3339(microseconds: 42) == "2026-11-20T12:00:00.000042Z")
        #expect(UTCTime(secondsSince1970: 784_111_777).imfFixdate == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(UTCTime(secondsSince1970: 253_402_300_799).rfc3339 == "9999-12-31T23:59:59Z")
        #expect(UTCTime(secondsSince1970: -1).rfc3339 == "1969-12-31T23:59:59Z")
    }

    /// A value from outside that no rule has limited must not end the process.
    @Test(arguments: [
        (Int64.min, "0000-01-01T00:00:00Z"), (-62_167_219_201, "0000-01-01T00:00:00Z"),
        (-62_167_219_200, "0000-01-01T00:00:00Z"), (253_402_300_800, "9999-12-31T23:59:59Z"),
        (Int64.max, "9999-12-31T23:59:59Z"),
    ])
    func isTotal(_ seconds: Int64, _ text: String) {
        let time = UTCTime(secondsSince1970: seconds)
        #expect(time.rfc3339 == text)
        #expect(time.imfFixdate.utf8.count == 29)
        #expect(time.rfc3339(microseconds: .min).hasSuffix(".000000Z"))
        #expect(time.rfc3339(microseconds: .max).hasSuffix(".999999Z"))
    }

    /// Every day from 1900 to 2400: leap years, those that are none, and the turn of an era.
    @Test func agreesWithTheSystemOnEveryDay() {
        for day in Int64(-25_567)...157_054 {
            var second = Int(day * 86_400 + 86_399 - (day & 0xFFF))
            var parts = tm()
            gmtime_r(&second, &parts)
            let time = UTCTime(secondsSince1970: Int64(second))
            guard time.year == Int64(parts.tm_year) + 1900, time.month == Int64(parts.tm_mon) + 1,
                time.day == Int64(parts.tm_mday), time.weekday == Int64(parts.tm_wday),
                time.hour == Int64(parts.tm_hour), time.minute == Int64(parts.tm_min),
                time.second == Int64(parts.tm_sec)
            else {
                Issue.record("\(second) is \(time)")
                return
            }
        }
    }
}
