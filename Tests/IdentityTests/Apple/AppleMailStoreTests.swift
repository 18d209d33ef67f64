import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

/// To which addresses Apple forwards no mail.
@Suite struct MailForwardingStoreTests {
    @Test func theLastDecisionCountsInWhateverOrderItIsTold() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let mail = MailForwardingStore(database: database.pool)
            let ada = try EmailAddress("Ada@privaterelay.appleid.com")
            let eve = try EmailAddress("eve@privaterelay.appleid.com")
            let user = try await Stores(on: database.pool).appleIdentities.findOrCreateAccount(
                for: .sample(), name: nil)
            func tell(_ isForwarded: Bool, _ address: EmailAddress, at second: Double) async throws {
                try await mail.note(
                    isForwarded: isForwarded, to: address, of: user.id, since: Date(timeIntervalSince1970: second))
            }
            #expect(try await mail.mayReceiveMail(ada))
            for (isForwarded, second, mayReceive) in [
                (false, 20, false), (true, 10, false), (true, 30, true), (false, 25, true), (false, 30, false),
                (true, 40, true), (false, 50, false),
            ] as [(Bool, Double, Bool)] {
                try await tell(isForwarded, ada, at: second)
                #expect(try await mail.mayReceiveMail(ada) == mayReceive, "after second \(second)")
                #expect(try await mail.mayReceiveMail(eve))
            }
            // The user has another address now; the decision is about that one.
            try await tell(false, eve, at: 60)
            #expect(try await mail.mayReceiveMail(ada))
            #expect(try await !mail.mayReceiveMail(eve))
        }
    }

    @Test func whoIsGoneIsNotRemembered() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let stores = Stores(on: database.pool)
            let mail = MailForwardingStore(database: database.pool)
            let ada = try EmailAddress("ada@privaterelay.appleid.com")
            let user = try await stores.appleIdentities.findOrCreateAccount(for: .sample(), name: nil)
            try await mail.note(isForwarded: false, to: ada, of: user.id, since: .now)
            _ = try await stores.deletions.delete(user.id, actor: .user)
            #expect(try await mail.mayReceiveMail(ada))
            try await mail.note(isForwarded: false, to: ada, of: user.id, since: .now)
            #expect(try await mail.mayReceiveMail(ada))
        }
    }
}
