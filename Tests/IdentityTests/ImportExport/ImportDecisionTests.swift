import Foundation
import Testing

@testable import IdentityService

@Suite struct ImportDecisionTests {
    static let (one, other) = (UUID(), UUID())

    @Test func anExistingUserStays() {
        #expect(ImportDecision.decide(isNamed: true, found: .init(hasID: true)) == .exists)
        #expect(ImportDecision.decide(isNamed: true, found: .init(hasID: true, email: Self.other)) == .exists)
        #expect(ImportDecision.decide(isNamed: false, found: .init(hasID: false, email: Self.one)) == .exists)
        #expect(
            ImportDecision.decide(
                isNamed: false, found: .init(hasID: false, email: Self.one, credentials: [("apple", Self.one)]))
                == .exists)
    }

    @Test func aNewUserIsCreated() {
        #expect(ImportDecision.decide(isNamed: true, found: .init(hasID: false)) == .create)
        #expect(ImportDecision.decide(isNamed: false, found: .init(hasID: false)) == .create)
    }

    @Test func anIdentifierOfAnotherUserIsRefused() {
        func isTaken(_ isNamed: Bool, _ found: ImportDecision.Found) -> Bool {
            if case .taken = ImportDecision.decide(isNamed: isNamed, found: found) { true } else { false }
        }
        #expect(isTaken(true, .init(hasID: false, email: Self.one)))
        #expect(isTaken(true, .init(hasID: false, wasDeleted: true)))
        #expect(isTaken(true, .init(hasID: false, credentials: [("apple", Self.one)])))
        #expect(isTaken(false, .init(hasID: false, email: Self.one, phone: Self.other)))
    }
}
