import Foundation
import Testing

@testable import GatehouseClient

struct AppleNonceTests {
    @Test func randomOnesDiffer() {
        let nonces = (0..<1000).map { _ in AppleNonce.random().value }
        #expect(Set(nonces).count == 1000)
        #expect(nonces.allSatisfy { $0.wholeMatch(of: /[0-9a-f]{32}/) != nil })
        // Not taken for one of the server's own.
        #expect(nonces.allSatisfy { !$0.hasPrefix("ghn_") })
    }

    @Test func theSubjectOfAnIdentityToken() {
        func token(_ claims: String) -> String {
            let payload = Data(claims.utf8).base64EncodedString().replacingOccurrences(of: "=", with: "")
                .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            return "e30.\(payload).sig"
        }
        for length in 0..<4 {
            let claims = #"{"pad":"\#(String(repeating: "ÿ?", count: length))","sub":"001234.abc.0987"}"#
            #expect(AppleIdentityToken.subject(of: token(claims)) == "001234.abc.0987")
        }
        for text in ["", "a.b", "a.b.c.d", "e30.!!.x", token("{}"), token("[]"), token(#"{"sub":7}"#)] {
            #expect(AppleIdentityToken.subject(of: text) == nil)
        }
    }
}
