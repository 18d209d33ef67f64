import Foundation
import SwiftUI
import Testing

@testable import GatehouseClient
@testable import GatehouseUI
@testable import Shop

/// What `ShopUITests` does on a simulator, without one.
@MainActor
@Suite("The example app against its server in memory")
struct ShopTests {
    private func launch(
        _ store: any TokenStore = InMemoryTokenStore(), asksForProof: Bool = false
    ) throws -> ViewHost {
        let client = try GatehouseClient(configuration: .stub(store, asksForProof: asksForProof))
        let push = PushHelper(PushRegistration(client: client, environment: .sandbox)) {}
        return ViewHost(HomeView(push: push).gatehouse(AppSession(client: client)))
    }

    private func signIn(_ host: ViewHost, password: String) async throws {
        try await eventually("the screen to sign in") { host.find("gatehouse.login.submit") != nil }
        host.find("gatehouse.login.identifier")?.type?("ada@example.com")
        host.find("gatehouse.login.password")?.type?(password)
        host.find("gatehouse.login.submit")?.tap?()
    }

    @Test("A wrong password: an alert")
    func wrongPassword() async throws {
        let host = try launch()
        defer { host.close() }
        try await signIn(host, password: "wrong horse")
        try await eventually("the alert") { host.find("gatehouse.login.dismiss") != nil }
        #expect(host.find("shop.home") == nil)
    }

    @Test("Every screen has what the server answers, and signing out leads back")
    func screens() async throws {
        let host = try launch()
        defer { host.close() }
        try await signIn(host, password: "correct horse")
        for text in ["Orders", "Order 7", "Order 8", "Devices", "Ada's phone", "This device", "Account", "Ada"] {
            try await eventually("\(text)") { host.texts.contains(text) }
        }
        for screen in ["orders", "sessions", "account"] { #expect(host.find("shop.\(screen).error") == nil) }
        host.find("shop.account.signOut")?.tap?()
        try await eventually("the screen to sign in") { host.find("gatehouse.login.submit") != nil }
    }

    @Test("Deleting the account asks first, and ends the session")
    func deletion() async throws {
        let host = try launch()
        defer { host.close() }
        try await signIn(host, password: "correct horse")
        try await eventually("the account") { host.find("shop.account.delete") != nil }
        #expect(host.find("shop.account.deleteForEver") == nil)
        host.find("shop.account.delete")?.tap?()
        try #require(host.find("shop.account.deleteForEver")).tap?()
        try await eventually("the screen to sign in") { host.find("gatehouse.login.submit") != nil }
    }

    @Test("Where the server asks for a proof, the app asks for the password")
    func proof() async throws {
        let host = try launch(asksForProof: true)
        defer { host.close() }
        try await signIn(host, password: "correct horse")
        try await eventually("the account") { host.find("shop.account.delete") != nil }
        host.find("shop.account.delete")?.tap?()
        func prove(_ password: String) async throws {
            try #require(host.find("shop.account.deleteForEver")).tap?()
            try await eventually("the question") { host.find("shop.account.password") != nil }
            host.find("shop.account.password")?.type?(password)
            host.find("shop.account.prove")?.tap?()
        }
        try await prove("wrong horse")
        let sentence = GatehouseError(.invalidCredentials).message()
        try await eventually("what is wrong") { host.texts.contains(sentence) }
        try await prove("correct horse")
        try await eventually("the screen to sign in") { host.find("gatehouse.login.submit") != nil }
    }

    @Test("A session in the Keychain is there when the app is launched again, until somebody signs out")
    func relaunch() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        let first = try launch(bench.store())
        try await signIn(first, password: "correct horse")
        try await eventually("the orders") { first.texts.contains("Order 7") }
        first.close()
        let second = try launch(bench.store())
        try await eventually("the orders at once") { second.texts.contains("Order 7") }
        second.find("shop.account.signOut")?.tap?()
        try await eventually("the screen to sign in") { second.find("gatehouse.login.submit") != nil }
        second.close()
        let third = try launch(bench.store())
        defer { third.close() }
        try await eventually("the screen to sign in") { third.find("gatehouse.login.submit") != nil }
    }
}
