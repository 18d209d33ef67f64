import Foundation
import GatehouseServiceContracts
import NIOHPACK
import TestKit
import Testing

@testable import DevicesService

/// What is read of Apple's answers.
@Suite struct APNsRequestTests {
    @Test(
        "Only a short word counts as a reason",
        arguments: [
            (#"{"reason":"BadTopic"}"#, "BadTopic"), (#"{"reason":"Bad topic"}"#, nil), (#"{"reason":""}"#, nil),
            (#"{"reason":"\#(String(repeating: "a", count: 65))"}"#, nil), (#"{"reason":7}"#, nil), ("", nil),
            ("[]", nil), (#"{"reason":"BadTopic"#, nil),
        ] as [(String, String?)])
    func reasons(body: String, reason: String?) {
        let response = APNsConnection.Machine.Response(status: 400, body: Array(body.utf8))
        #expect(APNsRequest.answer(response) == APNsAnswer(status: 400, reason: reason))
        #expect(APNsRequest.reason(of: Array(body.utf8)) == reason)
    }

    @Test(
        "Only a time from 1970 to 9999 counts as one of Apple's, and its reason counts without it",
        arguments: [
            ("1600000000500", 1_600_000_000.5), ("0", 0), ("253402300799999", 253_402_300_799.999),
            ("253402300800000", nil), ("9e18", nil), ("1e308", nil), ("1e400", nil), ("-1", nil), ("\"1\"", nil),
            ("null", nil), ("[]", nil), ("true", nil),
        ] as [(String, Double?)])
    func times(text: String, seconds: Double?) {
        let body = Array(#"{"reason":"Unregistered","timestamp":\#(text)}"#.utf8)
        let answer = APNsRequest.answer(APNsConnection.Machine.Response(status: 410, body: body))
        #expect(
            answer
                == APNsAnswer(
                    status: 410, reason: "Unregistered", invalidSince: seconds.map(Date.init(timeIntervalSince1970:))))
    }

    @Test("The fields of a response's head are bounded")
    func heads() {
        func fields(_ status: String, _ retryAfter: String? = nil) -> (status: Int?, retryAfter: Int?) {
            var headers = HPACKHeaders([(":status", status)])
            if let retryAfter { headers.add(name: "retry-after", value: retryAfter) }
            let fields = APNsRequest.responseFields(headers)
            return (fields.status, fields.retryAfter)
        }
        for status in ["", "99", "+20", "-20", "2 0", "20", "1000", "099", "20x", "٢٠٠"] {
            #expect(fields(status).status == nil, "\(status)")
        }
        for status in ["100", "200", "999"] { #expect(fields(status).status == Int(status)) }
        for (text, seconds) in [
            ("0", 0), ("30", 30), ("86400", 86_400), ("86401", 86_400), ("999999999", 86_400),
            ("99999999999999999999999", 86_400), ("-1", nil), ("+1", nil), ("1.5", nil), ("", nil),
            ("Wed, 21 Oct 2026 07:28:00 GMT", nil),
        ] as [(String, Int?)] {
            #expect(fields("429", text).retryAfter == seconds, "\(text)")
        }
    }
}
