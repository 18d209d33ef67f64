import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import GatehouseServiceKit
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials

/// Input is bounded before it is normalized, which takes time that grows with the square of its length.
@Suite struct InputCostTests {
    struct Field: Sendable, CustomTestStringConvertible {
        var name: String
        var length: Int
        var read: @Sendable (String) -> Void
        var testDescription: String { name }

        init(_ name: String, length: Int = 60_000, _ read: @escaping @Sendable (String) -> Void) {
            self.name = name
            self.length = length
            self.read = read
        }

        static func device(_ name: String, _ set: @escaping @Sendable (inout SessionDevice, String) -> Void) -> Field {
            Field(name) { text in
                var device = SessionDevice()
                set(&device, text)
                _ = try? device.checked()
            }
        }
    }

    static let fields: [Field] = [
        Field("password") { _ = try? Password($0) },
        Field("display name") { _ = try? DisplayName.read($0) },
        Field("display name among white space") { _ = try? DisplayName.read("  \($0)  ") },
        Field("Apple's given name") { _ = DisplayName.fromApple(givenName: $0, familyName: "x") },
        Field("Apple's family name") { _ = DisplayName.fromApple(givenName: nil, familyName: $0) },
        Field("identifier") { _ = try? Identifier($0) },
        Field("e-mail address") { _ = try? EmailAddress($0 + "@example.com") },
        Field("e-mail address's domain") { _ = try? EmailAddress("a@" + $0) },
        Field("phone number") { _ = try? PhoneNumber("+" + $0) },
        Field("code") { _ = try? OneTimeCode($0) },
        Field("languages") { _ = MessageLanguage.choose($0, of: [.english]) },
        Field("reset token") { _ = SingleUseToken.digest(of: $0) },
        .device("installationId") { $0.installationId = $1 }, .device("name") { $0.name = $1 },
        .device("model") { $0.model = $1 }, .device("osVersion") { $0.osVersion = $1 },
        .device("appVersion") { $0.appVersion = $1 },
        Field("identity token", length: AppleTokenVerifier.maximumLength) { _ = JWSParts($0) },
        Field("algorithm of an identity token", length: 6000) { text in
            _ = JWSParts(Self.token(header: #"{"alg":"\#(text)","kid":"x"}"#))
        },
        Field("type of an identity token", length: 6000) { text in
            _ = JWSParts(Self.token(header: #"{"alg":"RS256","kid":"x","typ":"\#(text)"}"#))
        },
        Field("names in an identity token", length: 3000) { text in
            _ = JWSParts(Self.token(header: #"{"alg":"RS256","kid":"x","\#(text)":1,"\#(text)b":1}"#))
        },
    ]

    private static func token(header: String) -> String {
        "\(Base64URL.string(Array(header.utf8))).e30.AAAA"
    }

    @Test(arguments: fields)
    func marksCostNoMoreThanLetters(_ field: Field) {
        let (marks, letters) = (CostlyText.marks(bytes: field.length), CostlyText.harmless(bytes: field.length))
        let limit = leastCPUTime { field.read(letters) } * 3 + .milliseconds(4)
        #expect(leastCPUTime(aimingUnder: limit) { field.read(marks) } < limit)
    }

    /// The longest password, in the longest spelling: four scalars of which NFKC makes one, 256 times.
    @Test func theLongestPasswordMayBeTypedInPieces() throws {
        let pieces = String(repeating: "\u{3B1}\u{313}\u{300}\u{345}", count: 256)
        #expect(try Password(pieces).text.unicodeScalars.count == 256)
        let syllables = String(repeating: "\u{1112}\u{1161}\u{11AB}", count: 256)
        #expect(try Password(syllables).text.unicodeScalars.count == 256)
    }

    @Test func theLongestNameMayBeTypedInPieces() throws {
        let syllables = String(repeating: "\u{1112}\u{1161}\u{11AB}", count: 100)
        #expect(try DisplayName.read(syllables)?.value.unicodeScalars.count == 100)
        #expect(try DisplayName.read(String(repeating: " ", count: 50_000) + "Ada")?.value == "Ada")
    }

    @Test func theLongestAddressMayBeTypedInFullWidth() throws {
        let wide = String(repeating: "ａ", count: 64) + "@" + String(repeating: "ｂ", count: 63) + ".de"
        #expect(try EmailAddress(wide).value.utf8.count == 131)
    }
}
