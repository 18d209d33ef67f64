import Contracts
import Foundation
import Testing

@testable import GatehouseClient

@Suite("What is printed") struct PrintedSecretTests {
    @Test("No text of anything holds a token") func nothingIsPrinted() async throws {
        let device = TestDevice()
        let client = try await device.signedIn()
        let token = try await client.session.accessToken()
        let state = try #require(await device.store.stored)
        let secrets = [token.value.value, try #require(state.session?.refreshToken.value)]
        let answer = API.Answer(body: device.server.signIn("bob@example.com"), sentAt: .zero, serverDate: nil)
        device.clock.advance(by: .seconds(3601))
        device.server.fault("/v1/auth/refresh", .status(500))
        let error = await #expect(throws: GatehouseError.self) { try await client.session.accessToken() }

        let printable: [Any] = [
            client, client.configuration, client.session, client.api, await client.session.state, token, token.value,
            state, state.session as Any, await client.session.machine, answer, error as Any,
            await client.session.machine.advice(at: .zero), device.store,
            TokenStoreError(.corrupt, "no stored session"),
        ]
        for value in printable {
            for text in texts(of: value) {
                for secret in secrets + [answer.body.accessToken, answer.body.refreshToken] {
                    #expect(!text.contains(secret), "\(type(of: value))")
                }
            }
        }
    }

    @Test("A secret is itself again when it is written and read, and only there") func codable() throws {
        let secret = Redacted("open sesame")
        let data = try JSON.encode(["secret": secret])
        #expect(try JSON.decode([String: Redacted<String>].self, from: data)["secret"] == secret)
        #expect("\(secret)" == "<redacted>")
        #expect(Mirror(reflecting: secret).children.isEmpty)
    }

    private func texts(of value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return [String(describing: value), String(reflecting: value), dumped, "\(Mirror(reflecting: value).children)"]
    }
}
