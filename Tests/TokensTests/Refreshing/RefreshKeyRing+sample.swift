import Foundation

@testable import TokensService

extension RefreshKeyRing {
    /// A ring whose keys depend on their ids and `seed` alone.
    static func sample(ids: [UInt8] = [1], seed: UInt8 = 1) -> RefreshKeyRing {
        try! RefreshKeyRing(file: sampleFile(ids: ids, seed: seed))
    }

    static func sampleFile(ids: [UInt8] = [1], seed: UInt8 = 1) -> String {
        ids.map { id in "\(id):\(Data(repeating: id &+ seed &* 16, count: 32).base64EncodedString())\n" }.joined()
    }
}
