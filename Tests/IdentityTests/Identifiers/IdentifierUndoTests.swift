import Foundation
import Testing

@testable import IdentityCore

@Suite struct IdentifierUndoTests {
    private let at = Date(timeIntervalSince1970: 1_800_000_000)
    private var border: Date { at.addingTimeInterval(-IdentifierUndo.suspicion) }
    private var old: Date { border.addingTimeInterval(-1) }

    private func change(
        _ former: String = "ada@example.com", _ origin: CredentialOrigin = CredentialOrigin(), at time: Date? = nil
    ) throws -> IdentifierUndo.Change {
        IdentifierUndo.Change(
            former: try Identifier(former), origin: origin, at: time ?? at, accountCreatedAt: at - 600)
    }

    @Test func onlyYoungCredentialsGo() throws {
        let change = try change()
        for (since, goes) in [(nil, false), (old, false), (border, true), (at, true), (at + 60, true)] {
            #expect(IdentifierUndo.removes(CredentialOrigin(since: since), undoing: change) == goes)
        }
    }

    /// Whichever account is older: the rows of one of the two were moved, or those of the other.
    @Test func whatCameFromTheOtherAccountGoesWhateverItsAge() throws {
        let other = UUID()
        let moved = CredentialOrigin(since: old, mergedFrom: other, mergedAt: at)
        let own = CredentialOrigin(since: old)
        #expect(IdentifierUndo.removes(moved, undoing: try change(at: at + 60)))
        #expect(IdentifierUndo.removes(own, undoing: try change("ada@example.com", moved, at: at + 60)))
        #expect(!IdentifierUndo.removes(moved, undoing: try change("ada@example.com", moved, at: at + 60)))
        #expect(!IdentifierUndo.removes(own, undoing: try change("ada@example.com", own, at: at + 60)))
        // Two absorbed accounts are strangers to each other.
        let third = CredentialOrigin(since: old, mergedFrom: UUID(), mergedAt: old)
        #expect(IdentifierUndo.removes(third, undoing: try change("ada@example.com", moved)))
        // A merge that the user has not undone in its time counts as the user's.
        let late = at.addingTimeInterval(IdentifierUndo.suspicion + 1)
        #expect(!IdentifierUndo.removes(moved, undoing: try change("ada@example.com", own, at: late)))
        #expect(!IdentifierUndo.removes(own, undoing: try change("ada@example.com", moved, at: late)))
    }

    /// No other token undoes the undo, and an older owner's stays.
    @Test func whatBecomesOfOtherTokens() throws {
        let used = try change()
        let young = CredentialOrigin(since: at)
        let ancient = CredentialOrigin(since: old)
        #expect(IdentifierUndo.fate(of: try change("eve@example.com", young, at: at + 60), undoing: used) == .ends)
        #expect(IdentifierUndo.fate(of: try change("+491711234567", young, at: at + 60), undoing: used) == .ends)
        #expect(IdentifierUndo.fate(of: try change("ada@example.com", ancient, at: old), undoing: used) == .ends)
        #expect(IdentifierUndo.fate(of: try change("ada@example.org", ancient, at: old), undoing: used) == .stays)
        #expect(IdentifierUndo.fate(of: try change("+491711234567", ancient, at: at + 60), undoing: used) == .stays)
        // Tokens of the version before have no times.
        #expect(IdentifierUndo.fate(of: try change("eve@example.com", at: at + 60), undoing: used) == .ends)
        let other = CredentialOrigin(since: old, mergedFrom: UUID(), mergedAt: at)
        #expect(IdentifierUndo.fate(of: try change("eve@example.com", other), undoing: used) == .isContested)
    }

    /// The account was registered less than three days ago. A thief has added a number since.
    @Test func anAccountsFirstIdentifierOutlastsAThiefsLaterOne() throws {
        let (first, later) = (CredentialOrigin(since: at - 600), CredentialOrigin(since: at - 300))
        let owners = try change("ada@example.com", first)
        let thiefs = try change("+491711234567", later, at: at - 60)
        #expect(!IdentifierUndo.removes(first, undoing: thiefs))
        #expect(IdentifierUndo.fate(of: owners, undoing: thiefs) == .isContested)
        #expect(IdentifierUndo.removes(later, undoing: owners))
        #expect(IdentifierUndo.removes(first, undoing: owners), "of the same time")
        #expect(IdentifierUndo.fate(of: thiefs, undoing: owners) == .ends)
        #expect(IdentifierUndo.fate(of: try change("ada@example.com", first), undoing: owners) == .ends)
        // The owner has replaced the first identifier. The thief's number is older than the new one, and goes.
        let replaced = try change("ada@example.org", CredentialOrigin(since: at - 200))
        #expect(IdentifierUndo.removes(later, undoing: replaced))
        #expect(IdentifierUndo.fate(of: thiefs, undoing: replaced) == .ends)
    }

    /// A merge leaves the rights of the account that stays.
    @Test func rightsGoWithTheCredentialsOfTheAccountThatStayed() throws {
        let moved = CredentialOrigin(since: old, mergedFrom: UUID(), mergedAt: at)
        #expect(IdentifierUndo.removesRights(undoing: try change("ada@example.com", moved)))
        #expect(IdentifierUndo.removesRights(undoing: try change("ada@example.com", moved, at: at + 60)))
        #expect(!IdentifierUndo.removesRights(undoing: try change()))
        let late = at.addingTimeInterval(IdentifierUndo.suspicion + 1)
        #expect(!IdentifierUndo.removesRights(undoing: try change("ada@example.com", moved, at: late)))
    }
}
