import Testing

@testable import IdentityCredentials

@Suite struct PasswordFilterTests {
    @Test func theHeaderSaysWhatTheFileIs() {
        for entries in [0, 1, 28, 29, 1_000_000, 2_000_000_000] {
            let filter = PasswordFilter(entries: entries)
            #expect(filter.header.count == 64)
            #expect(PasswordFilter(header: filter.header, fileLength: filter.fileLength) == filter)
            for length in [0, filter.fileLength - 1, filter.fileLength + 64] {
                #expect(PasswordFilter(header: filter.header, fileLength: length) == nil)
            }
        }
        let filter = PasswordFilter(entries: 1000)
        for index in [0, 7, 17, 23, 24, 63] {
            var other = filter.header
            other[index] ^= 1
            #expect(PasswordFilter(header: other, fileLength: filter.fileLength) == nil, "\(index)")
        }
        #expect(PasswordFilter(header: Array(filter.header.dropLast()), fileLength: filter.fileLength) == nil)
    }

    @Test func everyBlockIsUsedAndNoneBeyond() {
        let filter = PasswordFilter(entries: 1000)
        #expect(filter.blocks == 36)
        func hash(startingWith byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 20) }
        let offsets = (0...255).map { filter.offset(of: hash(startingWith: $0)) }
        #expect(offsets == offsets.sorted() && Set(offsets).count == 36)
        #expect(offsets.first == 64 && offsets.last == filter.fileLength - 64)
    }

    @Test func eightBitsComeFromWhatTheBlockIsNotChosenBy() {
        let hash = (0..<20).map { UInt8($0 * 13) }
        let bits = PasswordFilter.bits(of: hash)
        #expect(bits.count == 8 && bits.allSatisfy((0..<512).contains))
        var other = hash
        for index in 0..<8 { other[index] ^= 0xFF }
        #expect(PasswordFilter.bits(of: other) == bits)
        for index in 8..<16 {
            other = hash
            other[index] ^= 0x7E
            #expect(PasswordFilter.bits(of: other) != bits, "\(index)")
        }
    }

    @Test func linesAreReadAsHaveIBeenPwnedGivesThem() {
        func line(_ text: String) -> BreachedHashLine? { Array(text.utf8).withUnsafeBytes { BreachedHashLine($0) } }
        let digits = "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8"
        let hash: [UInt8] = [
            0x5B, 0xAA, 0x61, 0xE4, 0xC9, 0xB9, 0x3F, 0x3F, 0x06, 0x82, 0x25, 0x0B, 0x6C, 0xF8, 0x33, 0x1B, 0x7E, 0xE6,
            0x8F, 0xD8,
        ]
        for text in [digits, digits.lowercased(), digits + "\r"] {
            #expect(line(text)?.hash == hash && line(text)?.count == nil)
        }
        #expect(line(digits + ":9659365")?.hash == hash && line(digits + ":9659365\r")?.count == 9_659_365)
        for text in [
            "", ":", String(digits.dropLast()), digits + "0", digits + ":", digits + ":x", digits + ":-1",
            digits + " :1", "G" + digits.dropFirst(), "password",
        ] {
            #expect(line(text) == nil, "\(text)")
        }
    }
}
