import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseSettings
import NIOHTTP1
import TestKit
import Testing

@testable import IdentityCredentials
@testable import IdentityService

/// identity whose permits for passwords are all taken.
private enum CrowdedIdentity: ServiceApplication {
    static let name = IdentityApplication.name
    static let defaultPort = IdentityApplication.defaultPort

    static func configuration(from settings: Settings) -> IdentityConfiguration {
        var configuration = IdentityApplication.configuration(from: settings)
        configuration.credentialKinds = configuration.credentialKinds.map { kind in
            guard var passwords = kind as? PasswordConfiguration else { return kind }
            passwords.hashingThreads = 1
            passwords.hashingQueue = -1
            return passwords
        }
        return configuration
    }

    static func build(_ configuration: IdentityConfiguration, boot: ServiceBoot) async throws -> ServiceAssembly {
        try await IdentityApplication.build(configuration, boot: boot)
    }
}

extension AccountServiceTests {
    /// A flood of passwords.
    @Suite struct PasswordRoomTests {
        /// A request with a password is refused before anything of it is looked at. One with something else goes on.
        @Test func aFullQueueRefusesPasswordsAtOnceAndNothingElse() async throws {
            try await withOperator { admin in
                try await withService(CrowdedIdentity.self, settings: admin.identity.settings) { crowded in
                    let identity = Harness(
                        url: crowded.url, database: admin.identity.database, databaseURL: admin.identity.databaseURL,
                        tokens: admin.identity.tokens, devices: admin.identity.devices, apple: admin.identity.apple,
                        settings: admin.identity.settings)
                    let crowdedAdmin = AdminHarness(identity: identity, operatorID: admin.operatorID)
                    func code(_ path: String, _ json: String) async throws -> String? {
                        try await identity.send(.POST, "/v1/auth/" + path, as: UUID(), json: json).code
                    }
                    // Undecodable, so that a body that was decoded first would be a VALIDATION_FAILED.
                    for path in ["register", "login", "password", "password/reset"] {
                        let answer = try await code(path, "{}")
                        #expect(answer == "UNAVAILABLE", "\(path)")
                    }
                    let answer1 = try await code("reauthenticate", #"{"password":"tulpenzwiebel"}"#)
                    #expect(answer1 == "UNAVAILABLE")
                    let answer2 = try await code("reauthenticate", #"{"identityToken":"x"}"#)
                    #expect(answer2 == "INVALID_APPLE_TOKEN")
                    let merge = #"{"password":"tulpenzwiebel","identifier":"nothing"}"#
                    let answer3 = try await code("merge", merge)
                    #expect(answer3 == "UNAVAILABLE")
                    let answer4 = try await code("merge", #"{"identityToken":"x"}"#)
                    #expect(answer4 == "INVALID_APPLE_TOKEN")
                    let answer5 = try await code("merge", #"{"identifier":"ada@example.com","code":"000000"}"#)
                    #expect(answer5 == "INVALID_CREDENTIALS")
                    let create = #"{"identifier":"nothing","password":"tulpenzwiebel"}"#
                    let answer6 = try await crowdedAdmin.send(.POST, "/users", json: create).code
                    #expect(answer6 == "UNAVAILABLE")
                    let without = #"{"identifier":"ada@example.com"}"#
                    let answer7 = try await crowdedAdmin.send(.POST, "/users", json: without).status
                    #expect(answer7 == 201)
                }
            }
        }
    }
}
