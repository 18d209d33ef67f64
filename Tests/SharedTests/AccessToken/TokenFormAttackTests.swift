import Foundation
import GatehouseBytes
import Testing

@testable import GatehouseAccessTokens

/// Tokens in another form than RFC 7515 has, signed with the right key.
@Suite struct TokenFormAttackTests {
    @Test func everyOtherSpellingOfEachPart() throws {
        let parts = try Forge.token().split(separator: ".").map { String($0) }
        for index in 0..<3 {
            var spellings = [
                parts[index] + "=", parts[index] + "==", parts[index] + "====", parts[index] + "A", " " + parts[index],
                parts[index] + "\n", parts[index] + "\u{0}", "\u{FEFF}" + parts[index],
                parts[index].replacingOccurrences(of: "-", with: "+"),
                parts[index].replacingOccurrences(of: "_", with: "/"),
            ]
            // Trailing bits that are not zero: the same bytes for a lenient decoder.
            let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
            let bytes = try #require(Base64URL.decode(parts[index]))
            if bytes.count % 3 != 0 {
                spellings += alphabet.map { parts[index].dropLast() + String($0) }
            }
            for spelling in spellings where spelling != parts[index] {
                var changed = parts
                changed[index] = spelling
                #expect(Forge.refusal(changed.joined(separator: ".")) != nil)
                // The same text, but this time the signature covers it.
                if index < 2, !spelling.contains("\n") {
                    let resigned = try Forge.signed(changed[0] + "." + changed[1])
                    #expect(Forge.refusal(resigned) == .malformed)
                }
            }
        }
    }

    @Test func otherNumbersOfParts() throws {
        let token = try Forge.token()
        let nested = try Forge.token(payload: "\"\(token)\"")
        for text in [
            "", ".", "..", "...", "....", "a", "a.b", token + ".", "." + token, token + ".x", token + "..",
            token + "." + token, String(repeating: ".", count: 8000), nested,
            "eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.a.b.c.d",
        ] {
            #expect(Forge.refusal(text) == .malformed)
        }
        #expect(Forge.refusal(String(repeating: ".", count: 100_000)) == .tooLong)
        #expect(Forge.refusal(String(repeating: "A", count: 1_000_000)) == .tooLong)
    }

    @Test func jsonSerializationInsteadOfCompact() throws {
        let parts = try Forge.token().split(separator: ".")
        #expect(
            Forge.refusal(
                #"{"protected":"\#(parts[0])","payload":"\#(parts[1])","signature":"\#(parts[2])"}"#) == .malformed)
    }

    @Test(arguments: [
        #"{"alg":"none","alg":"RS256",%}"#, #"{"alg":"RS256","alg":"RS256",%}"#,
        #"{"\u0061lg":"none","alg":"RS256",%}"#,
        #"{"alg":"RS256","a\u006Cg":"none",%}"#, #"{"alg":"RS256",%,"k\u0069d":"x"}"#,
    ])
    func duplicateHeaderMembers(template: String) throws {
        let rest = #""typ":"at+jwt","kid":"\#(TestKey.kid)""#
        let header = template.replacingOccurrences(of: "%", with: rest)
        #expect(Forge.refusal(try Forge.token(header: header)) == .malformed)
    }

    @Test(arguments: Forge.payload.keys.sorted() + ["x"])
    func duplicateClaims(name: String) throws {
        let good = Forge.changing(Forge.payload, ["x": "1"])
        let value = Forge.payload[name] ?? "1"
        let scalar = name.unicodeScalars.first!
        let escaped = "\\u00" + String(scalar.value, radix: 16) + name.dropFirst()
        for second in [name, escaped] {
            let payload = good.dropLast() + ",\"\(second)\":\(value)}"
            #expect(Forge.refusal(try Forge.token(payload: String(payload))) == .malformed)
        }
    }

    @Test func duplicatesInsideUnknownClaims() throws {
        let payload = Forge.changing(Forge.payload, ["x": #"{"a":1,"\u0061":2}"#])
        #expect(Forge.refusal(try Forge.token(payload: payload)) == .malformed)
    }

    @Test(arguments: [
        "", "{", "}", "null", "[]", "1", #""x""#, "{}", "{}{}", #"{"iss":}"#, #"{"iss" "x"}"#, #"{iss:"x"}"#,
        "\u{FEFF}{}",
        #"{'iss':'x'}"#, "{} x", #"{"a":1,}"#, #"{"a":01}"#, #"{"a":+1}"#, #"{"a":.5}"#, #"{"a":1.}"#, #"{"a":NaN}"#,
        #"{"a":tru}"#, #"{"a":"\x"}"#, #"{"a":"\ud800"}"#, #"{"a":"\ud800\u0041"}"#, #"{"a":"\udc00"}"#,
        "{\"a\":\"\n\"}", "{\"a\":\"\u{0}\"}", "/**/{}", #"{"a":"\u12"}"#, #"{"a":[1,]}"#, #"{"a":[}"#,
        String(repeating: "[", count: 4000), String(repeating: #"{"a":"#, count: 900),
        #"{"x":"# + String(repeating: "[", count: 20) + String(repeating: "]", count: 20) + "}",
    ])
    func textThatIsNotTheJSONOfClaims(text: String) throws {
        #expect(Forge.refusal(try Forge.token(payload: text)) == .malformed)
        #expect(Forge.refusal(try Forge.token(header: text)) != nil)
        // With all claims in front, so that nothing is missing.
        if text.hasPrefix(#"{"a""#) || text.hasPrefix(#"{"x""#) {
            let payload = Forge.json(Forge.payload).dropLast() + "," + text.dropFirst()
            #expect(Forge.refusal(try Forge.token(payload: String(payload))) == .malformed)
        }
    }

    @Test func bytesThatAreNotUTF8() throws {
        for bytes: [UInt8] in [[0xFF], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80]] {
            let json = Forge.json(Forge.payload).dropLast() + #","x":""#
            let payload = Array(json.utf8) + bytes + Array(#""}"#.utf8)
            let input = Base64URL.string(Forge.json(Forge.header).utf8) + "." + Base64URL.string(payload)
            #expect(Forge.refusal(try Forge.signed(input)) == .malformed)
        }
    }

    @Test func moreClaimsThanATokenHas() throws {
        let extra = (0..<100).map { ",\"c\($0)\":0" }.joined()
        let payload = Forge.json(Forge.payload).dropLast() + extra + "}"
        #expect(Forge.refusal(try Forge.token(payload: String(payload))) == .malformed)
    }
}
