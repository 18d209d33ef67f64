import Foundation
import Sealing
import Testing

@Suite struct SealingTests {
    private static let first = "k1:\(Data(repeating: 1, count: 32).base64EncodedString())"
    private static let second = "k2:\(Data(repeating: 2, count: 32).base64EncodedString())"

    @Test func opensWhereItBelongsAndNowhereElse() throws {
        let sealer = Sealer(keys: try KeyRing(Self.first), purpose: "test")
        let secret = Data("a refresh token".utf8)
        let sealed = try sealer.seal(secret, context: "user 1")
        #expect(sealer.open(sealed, context: "user 1") == secret)
        #expect(sealer.open(sealed, context: "user 2") == nil)
        #expect(sealed.range(of: secret) == nil)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(sealer.open(changed, context: "user 1") == nil)
        }
        for length in 0..<sealed.count {
            #expect(sealer.open(sealed.prefix(length), context: "user 1") == nil)
        }
    }

    @Test func keysAreReplaced() throws {
        let sealed = try Sealer(keys: try KeyRing(Self.first), purpose: "test").seal(Data("x".utf8), context: "c")
        let both = Sealer(keys: try KeyRing(Self.second + "\n" + Self.first), purpose: "test")
        #expect(both.open(sealed, context: "c") == Data("x".utf8))
        let later = try both.seal(Data("y".utf8), context: "c")
        #expect(Sealer(keys: try KeyRing(Self.second), purpose: "test").open(later, context: "c") == Data("y".utf8))
        #expect(Sealer(keys: try KeyRing(Self.second), purpose: "test").open(sealed, context: "c") == nil)
    }

    @Test(
        arguments: [
            "", "# only a comment", "k1", "k1:", "k1:AAAA", ":AAAA", "k 1:\(Data(count: 32).base64EncodedString())",
            "k1:\(Data(count: 32).base64EncodedString())\nk1:\(Data(count: 32).base64EncodedString())",
            "abcdefghijklmnopq:\(Data(count: 32).base64EncodedString())",
            "k1:\(Data(count: 32).base64EncodedString())=",
        ])
    func refusesKeyFilesThatAreNone(text: String) {
        #expect(throws: KeyRingError.self) { try KeyRing(text) }
    }

    @Test func readsCommentsAndOrder() throws {
        let ring = try KeyRing("# development\n\n \(Self.second) \n# old\n\(Self.first)\n")
        #expect(ring.current.id == "k2")
        #expect(ring["k1"] != nil && ring["k3"] == nil && ring.all.count == 2)
    }
}
