import AsyncHTTPClient
import Testing

@testable import GatehouseServiceKit

@Suite struct CredentialSecrecyTests {
    /// Libraries write values into their logs that hold these somewhere within.
    @Test func aDescriptionHoldsNoCredential() {
        struct Holder {
            let credentials = CallerCredentials(["gateway": ["hush-hush", "hush-too"]])
            let client = ServiceClient(callee: "tokens", urls: [], credential: "hush-hush", httpClient: .shared)
        }
        let holder = Holder()
        var dumped = ""
        dump(holder, to: &dumped)
        let texts = [String(describing: holder), String(reflecting: holder), "\(holder.client)", dumped]
        for text in texts {
            #expect(!text.contains("hush"))
            #expect(!text.contains("104, 117, 115, 104"), "the same as numbers")
        }
        #expect(texts[0].contains("gateway") && texts[0].contains("tokens"))
    }
}
