import Foundation
import GatehouseServiceContracts
import Testing

@Suite struct BucketTests {
    /// `printf '\x00…' | sha256sum`: 374708ff… for 16 bytes of zero.
    @Test func aUsersBucketIsTheBeginningOfAHash() throws {
        let zero = try #require(UUID(uuidString: "00000000-0000-0000-0000-000000000000"))
        #expect(Bucket(user: zero).rawValue == 0x374)
    }

    @Test func aSessionIDBeginsWithItsUsersBucket() {
        for _ in 0..<1000 {
            let user = UUID()
            let session = UUID.session(of: user)
            #expect(Bucket(session: session) == Bucket(user: user))
            #expect(session.uuid.6 >> 4 == 8, "version 8")
            #expect(session.uuid.8 >> 6 == 0b10, "RFC 9562's variant")
            #expect(session != UUID.session(of: user))
        }
    }

    @Test(arguments: [(0, true), (4095, true), (-1, false), (4096, false)] as [(Int16, Bool)])
    func aBucketHasTwelveBits(number: Int16, isValid: Bool) {
        #expect((Bucket(rawValue: number) != nil) == isValid)
    }
}
