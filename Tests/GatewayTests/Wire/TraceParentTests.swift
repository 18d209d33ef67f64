import NIOCore
import Testing

@testable import GatewayService

@Suite("Traces")
struct TraceParentTests {
    private static let rest = "-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    private func read(_ text: String) -> TraceParent? {
        Array(text.utf8).withUnsafeBytes { TraceParent($0) }
    }

    @Test("Every version but ff is read by its first four parts; what a later one adds comes after a dash")
    func versions() {
        for version in 0...255 {
            let digits = (version < 16 ? "0" : "") + String(version, radix: 16)
            #expect((read(digits + Self.rest) != nil) == (version != 255), "\(digits)")
            #expect((read(digits + Self.rest + "-x") != nil) == (version > 0 && version != 255), "\(digits)")
            #expect(read(digits + Self.rest + "x") == nil && read(digits + Self.rest.dropLast()) == nil, "\(digits)")
        }
    }

    @Test("One wrong byte anywhere, and it is none")
    func everyByte() {
        let good = Array(("00" + Self.rest).utf8)
        let hexadecimal = Array("0123456789abcdef".utf8)
        for place in good.indices {
            for byte in [UInt8(ascii: "-"), UInt8(ascii: "A"), UInt8(ascii: "g"), 0, 0x80, UInt8(ascii: " ")]
            where byte != good[place] {
                var bytes = good
                bytes[place] = byte
                #expect(bytes.withUnsafeBytes { TraceParent($0) } == nil, "\(byte) at \(place)")
            }
        }
        #expect(good.allSatisfy { hexadecimal.contains($0) || $0 == UInt8(ascii: "-") })
        #expect(read("00-" + String(repeating: "0", count: 32) + "-b7ad6b7169203331-01") == nil)
        #expect(read("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01") == nil)
        #expect(read("") == nil && read("00") == nil)
    }

    @Test("It is written as version 00, with the flags that this version has")
    func written() throws {
        let context = try #require(read("cc" + Self.rest.dropLast(2) + "ff-more"))
        var buffer = ByteBuffer()
        buffer.write(atMost: TraceParent.length) { context.write(to: &$0, span: 1) }
        #expect(String(buffer: buffer) == "00-0af7651916cd43dd8448eb211c80319c-0000000000000001-01")
        #expect(context.traceID == "0af7651916cd43dd8448eb211c80319c")
    }
}
