import Foundation
import GatehouseContracts
import Testing

@testable import GatehouseClient

@Suite("How a user may authenticate again")
struct ReauthenticationMethodTests {
    private func user(
        email: String? = nil, emailVerified: Bool = false, phone: String? = nil, phoneVerified: Bool? = nil,
        _ providers: AuthProvider...
    ) -> GatehouseClient.User {
        GatehouseClient.User(
            id: UUID(), email: email, phone: phone, emailVerified: emailVerified, phoneVerified: phoneVerified,
            role: "customer", authProviders: providers, createdAt: Date(timeIntervalSince1970: 0))
    }

    @Test("By the credentials that the user has, and by a code to a verified address or number only")
    func methods() {
        #expect(ReauthenticationMethod.all(of: user(email: "a@example.com", .password)) == [.password])
        #expect(ReauthenticationMethod.all(of: user(.apple)) == [.apple])
        #expect(
            ReauthenticationMethod.all(
                of: user(
                    email: "a@example.com", emailVerified: true, phone: "+972501234567", phoneVerified: true, .apple,
                    .password))
                == [.password, .apple, .code(identifier: "a@example.com"), .code(identifier: "+972501234567")])
        #expect(ReauthenticationMethod.all(of: user(phone: "+972501234567", phoneVerified: false)).isEmpty)
        #expect(ReauthenticationMethod.all(of: user(phone: "+972501234567")).isEmpty)
    }
}
