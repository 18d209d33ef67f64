import GatehouseBytes
import Testing

@testable import GatehouseAccessTokens

@Suite struct P256KeyTests {
    private static func key(_ changes: [String: String?] = [:]) throws -> [UInt8] {
        let key = try TestP256.publicKey()
        let members = [
            "kty": #""EC""#, "crv": #""P-256""#, "kid": #""ec""#, "x": "\"\(Base64URL.string(key.x))\"",
            "y": "\"\(Base64URL.string(key.y))\"",
        ]
        return Array(#"{"keys":[\#(Forge.changing(members, changes))]}"#.utf8)
    }

    @Test func setsSurviveJWKS() throws {
        let set = try VerificationKeySet([
            ("rsa", .rsa(TestKey.signing.publicKey)), ("ec", .p256(TestP256.publicKey())),
        ])
        #expect(try VerificationKeySet(jwks: set.jwks()) == set)
        #expect(try VerificationKeySet(jwks: Self.key())["ec", .es256] == .p256(TestP256.publicKey()))
        #expect(try VerificationKeySet(jwks: Self.key(["use": #""sig""#, "alg": #""ES256""#])).keyIDs == ["ec"])
    }

    @Test(arguments: [["crv": #""P-384""#], ["crv": #""secp256k1""#], ["alg": #""ECDH-ES""#], ["use": #""enc""#]])
    func keysForSomethingElseArePassedOver(changes: [String: String?]) throws {
        let error = #expect(throws: AccessTokenError.self) { try VerificationKeySet(jwks: Self.key(changes)) }
        #expect(error?.message == "The key set has no usable key.")
    }

    @Test func pointsThatAreNotOnTheCurve() throws {
        let key = try TestP256.publicKey()
        var off = key.y
        off[31] ^= 1
        let zeros = [UInt8](repeating: 0, count: 32)
        let field = [UInt8](repeating: 0xFF, count: 32)
        for (x, y) in [
            (key.x, off), (zeros, zeros), (field, field), (key.x, Array(key.y.dropLast())), ([0] + key.x, key.y),
            ([], []), (key.x, zeros),
        ] {
            let error = #expect(throws: AccessTokenError.self) { try P256PublicKey(x: x, y: y) }
            #expect(error?.code == .unreadableKey)
        }
        for changes in [["x": nil], ["y": #""AA==""#], ["kid": nil], ["d": #""AA""#]] as [[String: String?]] {
            let error = #expect(throws: AccessTokenError.self) { try VerificationKeySet(jwks: Self.key(changes)) }
            #expect(error?.code == .unreadableKey)
        }
    }
}
