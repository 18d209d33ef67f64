import Foundation
import Testing

@testable import IdentityService

@Suite struct ImportVerdictTests {
    static let (one, other) = (UUID(), UUID())

    @Test func whoIsThereStays() {
        #expect(ImportVerdict.decide(isNamed: true, found: .init(hasID: true)) == .exists)
        #expect(ImportVerdict.decide(isNamed: true, found: .init(hasID: true, email: Self.other)) == .exists)
        #expect(ImportVerdict.decide(isNamed: false, found: .init(hasID: false, email: Self.one)) == .exists)
        #expect(
            ImportVerdict.decide(isNamed: false, found: .init(hasID: false, email: Self.one, apple: Self.one))
                == .exists)
    }

    @Test func whoIsNewIsMade() {
        #expect(ImportVerdict.decide(isNamed: true, found: .init(hasID: false)) == .create)
        #expect(ImportVerdict.decide(isNamed: false, found: .init(hasID: false)) == .create)
    }

    @Test func whatSomebodyElseHasIsRefused() {
        func isTaken(_ isNamed: Bool, _ found: ImportVerdict.Found) -> Bool {
            if case .taken = ImportVerdict.decide(isNamed: isNamed, found: found) { true } else { false }
        }
        #expect(isTaken(true, .init(hasID: false, email: Self.one)))
        #expect(isTaken(true, .init(hasID: false, wasDeleted: true)))
        #expect(isTaken(true, .init(hasID: false, apple: Self.one)))
        #expect(isTaken(false, .init(hasID: false, email: Self.one, phone: Self.other)))
    }
}
