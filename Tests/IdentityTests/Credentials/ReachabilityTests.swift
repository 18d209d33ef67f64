import Foundation
import GatehouseServiceContracts
import Testing

@testable import IdentityCore

@Suite("Reachability") struct ReachabilityTests {
    private static let provider = CredentialName(CredentialKindID(rawValue: "openid"), provider: "example")
    private static let secret = CredentialName(CredentialKindID(rawValue: "secret"))
    private static let code = CredentialKindID(rawValue: "code")

    private func account(
        _ credentials: Set<CredentialName>, hasIdentifier: Bool = false, email: String? = nil, phone: Bool = false
    ) -> Account {
        Account(
            id: UUID(), email: email, emailVerified: email != nil, phone: phone ? "+491711234567" : nil,
            phoneVerified: phone, role: "user", storeIDs: [], state: .active, hasIdentifier: hasIdentifier,
            credentials: credentials, version: 1, credentialsVersion: 1, createdAt: .now)
    }

    private let all = Reachability(requirements: [
        provider.kind: .credential, secret.kind: .credentialAndIdentifier, code: .verifiedIdentifier([.email, .phone]),
    ])

    @Test("Nothing: not opened")
    func nothing() {
        #expect(!all.opens(account([])))
        #expect(!all.opens(account([], hasIdentifier: true)))
    }

    @Test("Each requirement alone opens the account")
    func requirements() {
        #expect(all.opens(account([Self.provider])))
        #expect(!all.opens(account([Self.secret])))
        #expect(all.opens(account([Self.secret], hasIdentifier: true)))
        #expect(all.opens(account([Self.provider, Self.secret], hasIdentifier: true)))
    }

    @Test("A removed credential does not count, others of its kind do")
    func removed() {
        let other = CredentialName(Self.provider.kind, provider: "other")
        #expect(!all.opens(account([Self.provider]), without: Self.provider))
        #expect(all.opens(account([Self.provider, other]), without: Self.provider))
        #expect(!all.opens(account([Self.provider, Self.secret]), without: Self.provider))
        #expect(all.opens(account([Self.provider, Self.secret], hasIdentifier: true), without: Self.provider))
    }

    @Test("A kind that is no longer offered opens nothing")
    func notOffered() {
        let reachability = Reachability(requirements: [Self.secret.kind: .credentialAndIdentifier])
        #expect(!reachability.opens(account([Self.provider], hasIdentifier: true)))
        #expect(!Reachability(requirements: [:]).opens(account([Self.provider, Self.secret], hasIdentifier: true)))
    }

    @Test("A verified identifier opens it where messages are sent there")
    func codes() {
        let mail = Reachability(requirements: [Self.code: .verifiedIdentifier([.email])])
        #expect(mail.opens(account([], email: "ada@example.com")))
        #expect(!mail.opens(account([], phone: true)))
        #expect(all.opens(account([], phone: true)))
        #expect(!all.byCredentials.opens(account([], email: "ada@example.com", phone: true)))
    }

    @Test("A private relay address alone does not: Apple forwards only while the app is linked")
    func relay() {
        let address = "x@privaterelay.appleid.com"
        #expect(!all.opens(account([], email: address)))
        #expect(all.opens(account([], email: address, phone: true)))
    }
}
