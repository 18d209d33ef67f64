import Foundation
import Testing

@testable import TokensService

@Suite struct RefreshTokenTests {
    let keys = RefreshKeyRing.sample()
    let sessionID = UUID()

    @Test func textAndBytesAreOneToOne() throws {
        let token = RefreshToken(sessionID: sessionID, generation: 7, keys: keys)
        #expect(token.text.utf8.count == 97)
        let read = try #require(RefreshToken(text: token.text))
        #expect(read == token)
        #expect(read.sessionID == sessionID)
        #expect(read.generation == 7)
        #expect(read.keyID == 1)
        #expect(read.authenticity(under: keys) == .genuine)
        #expect(read.hash.count == 32)
    }

    @Test func generationsStayApart() {
        for generation in [0, 1, 255, 256, 65_536, Int32.max - 1] {
            let token = RefreshToken(sessionID: sessionID, generation: generation, keys: keys)
            #expect(RefreshToken(text: token.text)?.generation == generation)
        }
        // No successor can be counted after these generations.
        for generation in [Int32.max, -1, .min] {
            let token = RefreshToken(sessionID: sessionID, generation: generation, keys: keys)
            #expect(RefreshToken(text: token.text) == nil)
        }
    }

    @Test func everyChangedCharacterIsRefused() {
        let text = RefreshToken(sessionID: sessionID, generation: 1, keys: keys).text
        for index in text.indices.dropFirst(RefreshToken.prefix.count + 2) {
            var changed = text
            changed.replaceSubrange(index...index, with: text[index] == "A" ? "B" : "A")
            if let token = RefreshToken(text: changed) {
                #expect(
                    token.authenticity(under: keys) == .forged,
                    "character \(text.distance(from: text.startIndex, to: index))")
            }
        }
    }

    @Test func otherSpellingsAreRefused() {
        let text = RefreshToken(sessionID: sessionID, generation: 1, keys: keys).text
        let body = text.dropFirst(RefreshToken.prefix.count)
        let wrong = [
            "", "ghrt_", "ghrt-\(body)", "GHRT_\(body)", String(body), text + "=", text + "A", text + " ", " " + text,
            String(text.dropLast()), String(text.dropLast(4)), text + "AAAA",
            "ghrt_" + String(repeating: ".", count: 92),
            "ghrt_" + String(repeating: "é", count: 46), "ghrt_+" + body.dropFirst(), "ghrt_/" + body.dropFirst(),
            text.replacing("ghrt_", with: "ghrt_\n"), String(repeating: "A", count: 100_000),
        ]
        for text in wrong { #expect(RefreshToken(text: text) == nil, "\(text.prefix(120))") }
    }

    @Test func aTokenUnderAnUnknownKeyIsNotForged() {
        let token = RefreshToken(sessionID: sessionID, generation: 1, keys: .sample(ids: [9]))
        #expect(token.authenticity(under: keys) == .unknownKey)
        #expect(token.authenticity(under: .sample(ids: [9], seed: 5)) == .forged)
    }

    @Test func descriptionsHoldNoToken() {
        let token = RefreshToken(sessionID: sessionID, generation: 1, keys: keys)
        let body = String(token.text.dropFirst(30))
        var dumped = ""
        dump(token, to: &dumped)
        for text in ["\(token)", String(reflecting: token), dumped] {
            #expect(!text.contains(body))
            #expect(!text.contains("bytes"))
        }
    }
}
