import Foundation
import Testing

@testable import GatehouseClient

@Suite("A request's body that cannot be written") struct RequestBodyTests {
    private struct Unwritable: Encodable, Sendable {
        func encode(to encoder: any Encoder) throws {
            throw EncodingError.invalidValue(
                "secret", EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "not: secret"))
        }
    }

    @Test("The error does not tell what was to be written") func reason() async throws {
        let client = try TestDevice().launch()
        let error = await #expect(throws: GatehouseError.self) {
            _ = try await client.api.call("POST", "/a", json: Unwritable(), returning: API.Nothing.self)
        }
        #expect(error?.kind == .misuse)
        #expect(error?.reason?.contains("secret") == false)
        #expect(error?.reason?.contains("Unwritable") == true)
    }
}
