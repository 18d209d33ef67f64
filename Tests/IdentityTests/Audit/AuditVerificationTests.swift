import Crypto
import Foundation
import Testing

@testable import IdentityCore

@Suite struct AuditVerificationTests {
    static let key = SymmetricKey(data: [UInt8](repeating: 1, count: 32))
    static let day: Int64 = 86_400_000_000

    typealias Chain = [(seal: AuditSeal, entries: [AuditEntry])]

    /// Three seals over two entries each, a day apart.
    static func chain(key: SymmetricKey = key) -> Chain {
        var chain: Chain = []
        for number in 1...3 {
            let entries = (0..<2).map { entry(Int64(number * 2 + $0)) }
            let seal = AuditSeal(
                after: chain.last?.seal, over: entries, at: Int64(number) * day, keyID: "k1", key: key)
            chain.append((seal, entries))
        }
        return chain
    }

    static func entry(_ id: Int64) -> AuditEntry {
        AuditEntry(
            seq: id, id: id, at: id, userID: UUID(uuidString: "00000000-0000-0000-0000-00000000000\(id)")!,
            actor: "user",
            actorID: "a", event: "signed_in", detail: "d", sessionID: nil, count: 1, originDigest: [1])
    }

    static func flaws(_ chain: Chain, key: SymmetricKey? = key) -> [String] {
        var verification = AuditVerification()
        for (seal, entries) in chain { verification.check(seal, over: entries, key: key) }
        return verification.flaws
    }

    @Test func aChainThatNobodyTouchedIsIntact() {
        var verification = AuditVerification()
        for (seal, entries) in Self.chain() { verification.check(seal, over: entries, key: Self.key) }
        verification.checkBeginning(keptSince: nil)
        verification.checkEnd(unsealedFor: 5)
        #expect(verification.flaws == [] && verification.seals == 3 && verification.entries == 6)
        #expect(verification.withoutKey == 0)
    }

    static let changes: [@Sendable (inout AuditEntry) -> Void] = [
        { $0.id += 10 }, { $0.at += 1 }, { $0.userID = UUID() }, { $0.actor = "system" }, { $0.actorID = nil },
        { $0.event = "deleted" }, { $0.detail = nil }, { $0.sessionID = UUID() }, { $0.count = 2 },
        { $0.originDigest = nil },
        {
            $0.actor = "use"; $0.actorID = "ra"
        },
    ]

    @Test(arguments: changes.indices) func anyFieldThatIsChangedShows(index: Int) {
        var chain = Self.chain()
        Self.changes[index](&chain[1].entries[0])
        #expect(Self.flaws(chain).count == 1)
    }

    @Test func aMissingEntryShowsAndSoDoesOneTooMany() {
        var chain = Self.chain()
        chain[1].entries.removeLast()
        #expect(Self.flaws(chain) == ["Seal 2 covers 2 entries, and 1 are there."])
        chain = Self.chain()
        chain[1].entries.append(Self.entry(9))
        #expect(Self.flaws(chain) == ["Seal 2 covers 2 entries, and 3 are there."])
    }

    @Test func aMissingSealShows() {
        var chain = Self.chain()
        chain.remove(at: 1)
        #expect(Self.flaws(chain) == ["Seals are missing between 1 and 3."])
    }

    /// An attacker who may write the database makes a whole chain that fits, but has not the key.
    @Test func aChainThatWasMadeAnewShows() {
        let forged = Self.chain(key: SymmetricKey(data: [UInt8](repeating: 2, count: 32)))
        #expect(Self.flaws(forged).count == 3)
        // From the second on: it does not follow from the first, either.
        var spliced = Self.chain()
        var changed = spliced[1].entries
        changed[0].event = "enabled"
        let other = AuditSeal(
            after: spliced[0].seal, over: changed, at: 2 * Self.day, keyID: "k1",
            key: SymmetricKey(data: [UInt8](repeating: 2, count: 32)))
        spliced[1] = (other, changed)
        #expect(
            Self.flaws(spliced) == [
                "Seal 2 was not made by this service.", "Seal 3 does not follow from seal 2.",
            ])
    }

    @Test func withoutTheKeyTheHashesAreStillCompared() {
        var verification = AuditVerification()
        for (seal, entries) in Self.chain() { verification.check(seal, over: entries, key: nil) }
        #expect(verification.flaws == [] && verification.withoutKey == 3)
    }

    @Test func theBeginningMayOnlyBeMissingWhenItWasTooOld() {
        func flaws(dropping count: Int, keptSince: Int64?) -> Int {
            var verification = AuditVerification()
            for (seal, entries) in Self.chain().dropFirst(count) {
                verification.check(seal, over: entries, key: Self.key)
            }
            verification.checkBeginning(keptSince: keptSince)
            return verification.flaws.count
        }
        #expect(flaws(dropping: 0, keptSince: nil) == 0)
        #expect(flaws(dropping: 0, keptSince: 0) == 0)
        #expect(flaws(dropping: 1, keptSince: nil) == 1)
        // The first seal was made after a day.
        #expect(flaws(dropping: 1, keptSince: Self.day) == 1)
        #expect(flaws(dropping: 1, keptSince: Self.day + 1) == 0)
    }

    @Test func aNotedHeadHasToBeThere() {
        let chain = Self.chain()
        func flaws(_ number: Int64, found: AuditSeal?, _ digest: [UInt8]) -> Int {
            var verification = AuditVerification()
            for (seal, entries) in chain.prefix(2) { verification.check(seal, over: entries, key: Self.key) }
            verification.check(noted: number, found: found, digest: digest)
            return verification.flaws.count
        }
        #expect(flaws(2, found: chain[1].seal, chain[1].seal.digest) == 0)
        #expect(flaws(2, found: chain[1].seal, chain[0].seal.digest) == 1)
        // The end was cut off.
        #expect(flaws(3, found: nil, chain[2].seal.digest) == 1)
        // It was removed by its age.
        #expect(flaws(0, found: nil, chain[2].seal.digest) == 0)
    }

    @Test func entriesThatWaitForTheirSealForLongShow() {
        var verification = AuditVerification()
        verification.checkEnd(unsealedFor: nil)
        verification.checkEnd(unsealedFor: 600)
        #expect(verification.flaws == [])
        verification.checkEnd(unsealedFor: 601)
        #expect(verification.flaws.count == 1)
    }

    @Test func flawsAreToldUpToABound() {
        var verification = AuditVerification()
        let seal = Self.chain()[0].seal
        for _ in 0..<200 { verification.check(seal, over: [], key: nil) }
        #expect(verification.flaws.count == AuditVerification.mostFlaws + 1)
        #expect(verification.flaws.last == "There is more.")
    }
}
