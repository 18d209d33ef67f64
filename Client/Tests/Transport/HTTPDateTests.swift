import Foundation
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct HTTPDateTests {
    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199), ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
        ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
    ])
    func moments(text: String, seconds: Double) {
        #expect(HTTPDate.read(text) == Date(timeIntervalSince1970: seconds))
    }

    @Test func everyDayOfFourHundredYearsIsTheCalendars() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        for day in stride(from: 0, to: 146_097, by: 13) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400)
            let parts = calendar.dateComponents([.year, .month, .day], from: date)
            let year = try #require(parts.year)
            let month = months[try #require(parts.month) - 1]
            let number = try #require(parts.day)
            let text = "Xxx, \(number < 10 ? "0" : "")\(number) \(month) \(year) 00:00:00 GMT"
            #expect(HTTPDate.read(text) == date)
        }
    }

    @Test(arguments: [
        "", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 32 Nov 1994 00:00:00 GMT", "Sun, 06 Now 1994 08:49:37 GMT",
        "Sun, -6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:4937: GMT", "Sun, ٠٦ Nov 1994 08:49:37 GMT",
    ])
    func otherTexts(text: String) {
        #expect(HTTPDate.read(text) == nil)
    }

    @Test(arguments: [
        (["Retry-After": "0"], Duration.zero), (["Retry-After": " 120 "], .seconds(120)),
        (["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:07 GMT"], .seconds(30)),
        (["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 09:49:37 GMT"], .zero),
        (["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"], nil), (["Retry-After": "-1"], nil),
        (["Retry-After": "soon"], nil), (["Retry-After": "99999999999999999999"], nil), ([:], nil),
    ])
    func retryAfter(fields: [String: String], pause: Duration?) throws {
        let url = try #require(URL(string: "https://api.example.com"))
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 503, httpVersion: "HTTP/1.1", headerFields: fields))
        #expect(response.retryAfter == pause)
    }
}
