import Foundation
import Sealing
import Testing

@testable import IdentityCredentials

@Suite struct AppleGrantTests {
    @Test func grantsAreBoundToTheirTask() throws {
        let sealer = Sealer(keys: .sample, purpose: AppleGrant.sealingPurpose)
        let grant = AppleGrant(clientID: "com.example.app", kind: .refreshToken, secret: "r")
        let job = UUID()
        let sealed = try grant.sealed(by: sealer, for: job)
        #expect(AppleGrant.open(sealed, for: job, by: sealer) == grant)
        #expect(AppleGrant.open(sealed, for: UUID(), by: sealer) == nil)
        #expect(AppleGrant.open(nil, for: job, by: sealer) == nil)
    }
}
