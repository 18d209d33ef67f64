import Foundation
import GatehouseBytes
import Testing

@Suite struct EncodingTests {
    // MARK: - Base64url

    @Test func vectorsOfTheRFC() {
        // RFC 4648 §10, without padding; RFC 7515 appendix C.
        for (text, encoded) in [
            ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ] {
            #expect(Base64URL.string(text.utf8) == encoded)
            #expect(Base64URL.decode(encoded) == Array(text.utf8))
        }
        #expect(Base64URL.string([3, 236, 255, 224, 193]) == "A-z_4ME")
    }

    /// Every text of two and three symbols is either refused or the one spelling of its bytes.
    @Test func oneSpellingForEveryValue() {
        let symbols = Array(UInt8(0x20)...0x7E)
        for first in symbols {
            for second in symbols {
                for text in [[first, second], [0x41, first, second]] {
                    if let bytes = Base64URL.decode(text[...]) { #expect(Base64URL.encode(bytes) == text) }
                }
            }
        }
    }

    @Test func everyByteAtEveryPlaceSurvives() {
        for byte in UInt8.min...UInt8.max {
            for bytes in [[byte], [byte, 1], [1, byte], [1, 2, byte], [byte, byte, byte, byte]] {
                #expect(Base64URL.decode(Base64URL.encode(bytes)[...]) == bytes)
            }
        }
    }

    // MARK: - Hexadecimal

    @Test func everyByteHasTwoDigits() {
        #expect(Hexadecimal.string([0x00, 0x0F, 0xA0, 0xFF]) == "000fa0ff")
        #expect(Hexadecimal.string(UInt64(0xDEAD)) == "000000000000dead")
        #expect(Hexadecimal.string([]) == "")
    }

    @Test func digitsOfEitherCaseHaveAValue() {
        let values = "0123456789abcdefABCDEF".utf8.map { Hexadecimal.value($0) }
        #expect(values == Array(0...15) + Array(10...15))
        #expect("/:@`gG".utf8.allSatisfy { Hexadecimal.value($0) == nil })
    }

    @Test func comparisonsTellEveryDifference() {
        #expect(constantTimeEqual([1, 2, 3], [1, 2, 3]) && constantTimeEqual([], []))
        #expect(!constantTimeEqual([1, 2, 3], [1, 2, 4]) && !constantTimeEqual([1, 2], [1, 2, 3]))
    }
}
