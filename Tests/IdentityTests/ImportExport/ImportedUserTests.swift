import Foundation
import Postgres
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

@Suite struct ImportedUserTests {
    static let hash = "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$MDEyMzQ1Njc4OWFiY2RlZg"

    /// Reading a line asks no database.
    private let registry: CredentialRegistry

    init() throws {
        registry = Stores(on: PostgresPool(configuration: try PostgresConfiguration(url: "postgres://none"))).registry
    }

    private func read(_ change: (inout UserRecord) -> Void) -> Result<ImportedUser, Refusal> {
        var record = UserRecord(email: "ada@example.com")
        change(&record)
        return Result { () throws(Refusal) in try ImportedUser(record, home: nil, registry: registry, now: .now) }
    }

    private func hash(_ text: String) throws -> String? {
        let user = try read { $0.passwordHash = text }.get()
        #expect(user.credentials.map(\.credential.name) == [CredentialName(.password)])
        return user.credentials.first?.details
    }

    private func isRefused(_ change: (inout UserRecord) -> Void) -> Bool {
        if case .failure = read(change) { true } else { false }
    }

    @Test func whatIsThereIsNormalisedAndTheRestIsAsAtARegistration() throws {
        let user = try read { record in
            record.email = " Ada@Example.COM "
            record.phone = "+49 171 1234567"
            record.displayName = " Ada "
        }.get()
        #expect(user.email == "ada@example.com" && user.phone == "+491711234567" && user.displayName == "Ada")
        #expect(!user.emailVerified && !user.phoneVerified && user.role == "user" && user.storeIDs == [])
        #expect(user.state == .active && user.credentials.isEmpty && !user.isNamed)
    }

    @Test func hashesOfOursAreTaken() throws {
        #expect(try hash(Self.hash) == Self.hash)
        let ours = PasswordHash(
            parameters: .floor, pepperID: "p1", salt: [UInt8](repeating: 1, count: 16),
            hash: [UInt8](repeating: 2, count: 32)
        ).phcString
        #expect(try hash(ours) == ours)
    }

    @Test(arguments: ForeignHashTests.published.map(\.text))
    func hashesOfOtherSystemsAreTakenAsTheyAre(text: String) throws {
        let keys = ImportedPasswordHash.Keys(peppers: [], hasFirebaseSignerKey: true)
        #expect(try ImportedPasswordHash(text, keys: keys).text == text)
    }

    @Test func firebasesAreTakenOnlyWithTheirKey() throws {
        let hash = try #require(ForeignHashTests.published.map(\.text).first { $0.hasPrefix("$firebase") })
        #expect(isRefused { $0.passwordHash = hash })
    }

    @Test func whatCouldNotBeUsedIsRefused() {
        #expect(isRefused { $0.email = nil })
        #expect(isRefused { $0.email = "+49 171 1234567" })
        #expect(isRefused { $0.phone = "ada@example.com" })
        #expect(isRefused { $0.email = "not an address" })
        #expect(isRefused { $0.role = "Admin" })
        #expect(isRefused { $0.storeIds = ["a b"] })
        #expect(isRefused { $0.state = "gone" })
        #expect(isRefused { $0.displayName = "a\u{202E}b" })
        #expect(isRefused { $0.passwordHash = "$2b$10$abcdefghijklmnopqrstuv" })
        #expect(isRefused { $0.passwordHash = "$argon2id$v=19$m=9999999,t=2,p=1$c29tZXNhbHQ$MDEyMzQ1Njc4OWFiY2RlZg" })
        // A pepper that the service does not have: its user could never sign in.
        #expect(
            isRefused {
                $0.passwordHash = "$argon2id$v=19$m=19456,t=2,p=1,keyid=cDI$c29tZXNhbHQ$MDEyMzQ1Njc4OWFiY2RlZg"
            })
        #expect(isRefused { $0.createdAt = .distantFuture })
        #expect(isRefused { $0.apple = UserRecord.Apple(subject: "", clientId: "a") })
        // No user could enter the password.
        #expect(
            isRefused { record in
                record.email = nil
                record.apple = UserRecord.Apple(subject: "001", clientId: "a")
                record.passwordHash = Self.hash
            })
    }
}
