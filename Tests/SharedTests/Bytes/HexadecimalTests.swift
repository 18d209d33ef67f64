import Bytes
import Testing

@Suite struct HexadecimalTests {
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
