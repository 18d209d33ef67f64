import Foundation
import Testing

@testable import TokensService

@Suite struct UUIDTests {
    @Test func randomOnesSayThatTheyAreAndDiffer() {
        let identifiers = (0..<1000).map { _ in UUID.random() }
        #expect(Set(identifiers).count == identifiers.count)
        for identifier in identifiers {
            let text = Array(identifier.uuidString)
            #expect(text[14] == "4")
            #expect("89AB".contains(text[19]))
        }
        // Every other bit is 0 in some and 1 in others.
        let bits = identifiers.map { identifier in
            withUnsafeBytes(of: identifier.uuid) { $0.map(\.self) }
        }
        let always = bits.reduce([UInt8](repeating: 0xff, count: 16)) { zip($0, $1).map { $0 & $1 } }
        let ever = bits.reduce([UInt8](repeating: 0, count: 16)) { zip($0, $1).map { $0 | $1 } }
        #expect(always == [0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0])
        #expect(ever == [255, 255, 255, 255, 255, 255, 0x4f, 255, 0xbf, 255, 255, 255, 255, 255, 255, 255])
    }
}
