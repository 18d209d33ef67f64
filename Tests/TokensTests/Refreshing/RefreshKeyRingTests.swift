import Foundation
import Sealing
import Testing

@testable import TokensService

@Suite struct RefreshKeyRingTests {
    static let key = Data(repeating: 7, count: 32).base64EncodedString()

    @Test func theFirstKeyMints() throws {
        let ring = try RefreshKeyRing(file: "# development\n\n 2:\(Self.key)\r\n0:\(Self.key)\n")
        #expect(ring.minting.id == 2)
        #expect(ring[0] != nil)
        #expect(ring[1] == nil)
    }

    @Test(arguments: [
        "", "# nothing\n", "1", "1:", ":\(key)", "256:\(key)", "-1:\(key)", "a:\(key)", "1:AAAA", "1:\(key)=",
        "1:\(key)\n1:\(key)",
    ])
    func wrongFilesAreRefused(file: String) {
        #expect(throws: KeyRingError.self) { try RefreshKeyRing(file: file) }
    }

    @Test func errorsHoldNoKey() {
        do throws(KeyRingError) {
            _ = try RefreshKeyRing(file: "1:\(Self.key)\n1:\(Self.key)")
        } catch { #expect(!"\(error)".contains(Self.key)) }
    }
}

@Suite struct SuccessorSealTests {
    let keys = RefreshKeyRing.sample()
    let sessionID = UUID()

    func token(_ generation: Int32) -> RefreshToken {
        RefreshToken(sessionID: sessionID, generation: generation, keys: keys)
    }

    @Test func onlyThePredecessorOpens() throws {
        let (predecessor, successor) = (token(4), token(5))
        let sealed = try keys.seal(successor, under: predecessor)
        #expect(try keys.open(sealed, with: predecessor) == successor)
        // Another token of the same generation, of the same session, or of another one.
        for wrong in [
            token(4), token(3), token(5), successor, RefreshToken(sessionID: UUID(), generation: 4, keys: keys),
        ] {
            #expect(throws: SuccessorSealError.broken) { try keys.open(sealed, with: wrong) }
        }
    }

    @Test func theServerKeyIsNeeded() throws {
        let predecessor = token(4)
        let sealed = try keys.seal(token(5), under: predecessor)
        #expect(throws: SuccessorSealError.broken) {
            try RefreshKeyRing.sample(seed: 3).open(sealed, with: predecessor)
        }
        #expect(throws: SuccessorSealError.unknownKey(1)) {
            try RefreshKeyRing.sample(ids: [2]).open(sealed, with: predecessor)
        }
    }

    @Test func everyChangedByteIsRefused() throws {
        let predecessor = token(4)
        let sealed = try keys.seal(token(5), under: predecessor)
        for index in sealed.indices.dropFirst() {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: SuccessorSealError.broken) { try keys.open(changed, with: predecessor) }
        }
        for sealed in [[], [1], Array(sealed.dropLast())] {
            #expect(throws: SuccessorSealError.broken) { try keys.open(sealed, with: predecessor) }
        }
    }

    @Test func sealsOfTheSameSuccessorDiffer() throws {
        let (predecessor, successor) = (token(4), token(5))
        #expect(try keys.seal(successor, under: predecessor) != keys.seal(successor, under: predecessor))
    }

    /// A new key is known everywhere, then mints, then the old one goes: no user is signed out.
    @Test func aKeyIsReplaced() throws {
        let before = RefreshKeyRing.sample(ids: [1, 2])
        let after = RefreshKeyRing.sample(ids: [2, 1])
        let old = RefreshToken(sessionID: sessionID, generation: 0, keys: before)
        let new = RefreshToken(sessionID: sessionID, generation: 1, keys: after)
        #expect(old.authenticity(under: after) == .genuine)
        #expect(new.authenticity(under: before) == .genuine)
        #expect(try before.open(after.seal(new, under: old), with: old) == new)
    }
}
