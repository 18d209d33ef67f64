import Foundation
import Testing

@testable import IdentityService

@Suite struct IdentifierUndoTests {
    @Test func onlyYoungWaysInGo() {
        let change = Date(timeIntervalSince1970: 1_800_000_000)
        #expect(!IdentifierUndo.removes(wayInSince: nil, ofChangeAt: change))
        #expect(IdentifierUndo.removes(wayInSince: change, ofChangeAt: change))
        #expect(IdentifierUndo.removes(wayInSince: change.addingTimeInterval(60), ofChangeAt: change))
        let border = change.addingTimeInterval(-IdentifierUndo.suspicion)
        #expect(IdentifierUndo.removes(wayInSince: border, ofChangeAt: change))
        #expect(!IdentifierUndo.removes(wayInSince: border.addingTimeInterval(-1), ofChangeAt: change))
    }

    @Test func tokensAreLongAndKeptAsTheirHash() {
        let token = UndoToken()
        #expect(token.text.hasPrefix("ghiu_") && token.text.utf8.count == 5 + 43)
        #expect(token.digest == UndoToken.digest(token.text) && token.digest.count == 32)
        #expect(token.text != UndoToken().text)
    }
}
