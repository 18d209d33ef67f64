import NIOCore
import Testing

@testable import GatewayService

@Suite("Small frames become few")
struct DataFrameMergerTests {
    private struct Frame: Equatable {
        var type: UInt8 = 0
        var flags: UInt8 = 0
        var stream: UInt32 = 1
        var payload: [UInt8] = []

        /// Without padding; `nil` where there is more of it than payload.
        var data: ArraySlice<UInt8>? {
            guard flags & 8 != 0 else { return payload[...] }
            guard let padding = payload.first.map(Int.init), padding < payload.count else { return nil }
            return payload[1..<(payload.count - padding)]
        }

        /// What WINDOW_UPDATE says.
        var increment: Int { type == 8 && payload.count == 4 ? Int(payload[3]) : 0 }

        var bytes: [UInt8] {
            var buffer = ByteBuffer()
            buffer.writeInteger(UInt32(payload.count) << 8 | UInt32(type))
            buffer.writeInteger(flags)
            buffer.writeInteger(stream)
            buffer.writeBytes(payload)
            return Array(buffer: buffer)
        }
    }

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private static func update(_ increment: UInt8, stream: UInt32 = 1) -> Frame {
        Frame(type: 8, stream: stream, payload: [0, 0, 0, increment])
    }

    private static func data(_ text: String, stream: UInt32 = 1, ends: Bool = false) -> Frame {
        Frame(flags: ends ? 1 : 0, stream: stream, payload: Array(text.utf8))
    }

    /// What comes out of `frames` in reads of `size` bytes.
    private func merge(_ frames: [Frame], size: Int = .max) throws -> [Frame] {
        var merger = DataFrameMerger()
        return try merge(frames, size: size, by: &merger)
    }

    private func merge(_ frames: [Frame], size: Int = .max, by merger: inout DataFrameMerger) throws -> [Frame] {
        var output: [UInt8] = []
        var bytes = (Self.preface + frames.flatMap(\.bytes))[...]
        while !bytes.isEmpty {
            let merged = merger.merge(ByteBuffer(bytes: bytes.prefix(size))) { _ in true }
            output += try #require(merged).readableBytesView
            bytes = bytes.dropFirst(size)
        }
        #expect(Array(output.prefix(24)) == Self.preface)
        var buffer = ByteBuffer(bytes: output.dropFirst(24))
        var found: [Frame] = []
        while let (first, flags, stream) = buffer.readMultipleIntegers(as: (UInt32, UInt8, UInt32).self) {
            let payload = buffer.readBytes(length: Int(first >> 8))
            found.append(
                Frame(type: UInt8(first & 255), flags: flags, stream: stream, payload: try #require(payload)))
        }
        #expect(buffer.readableBytes == 0)
        return found
    }

    @Test("Frames of a stream are one, also where those of others stand between")
    func merges() throws {
        let one = [Self.data("a"), Self.data("b"), Self.data("c", ends: true)]
        #expect(try merge(one) == [Self.data("abc", ends: true)])
        let two = [
            Self.data("a"), Self.data("1", stream: 3), Self.data("b"), Self.data("2", stream: 3, ends: true),
            Self.data("c"),
        ]
        #expect(try merge(two) == [Self.data("abc"), Self.data("12", stream: 3, ends: true)])
    }

    @Test("The first bit of a stream's number makes no other stream of it")
    func reservedBit() throws {
        let frames = [Self.data("a"), Self.data("b", stream: 1 | 1 << 31), Self.data("c"), Self.data("d", ends: true)]
        #expect(try merge(frames) == [Self.data("abcd", ends: true)])
    }

    @Test("Padding is taken out and counted; flags that DATA has not mean nothing")
    func padding() throws {
        var merger = DataFrameMerger()
        let frames = [
            Frame(flags: 8, payload: [2, 97, 0, 0]), Frame(flags: 2, payload: [98]),
            Frame(flags: 0xF8, payload: [0, 99]), Frame(flags: 9, payload: [1, 100, 0]),
        ]
        let found = try merge(frames, by: &merger)
        #expect(found == [Self.data("abcd", ends: true)])
        let (padding, nothing) = (merger.takePadding(), merger.takePadding())
        #expect(padding == [1: 6] && nothing.isEmpty)
    }

    @Test("DATA and WINDOW_UPDATE pass one another, so that each stream has one of each")
    func updates() throws {
        let frames = (0..<100).flatMap { _ in
            [Self.data("a"), Self.update(1), Self.update(2, stream: 0), Self.data("b", stream: 3)]
        }
        let text = String(repeating: "a", count: 100)
        #expect(
            try merge(frames) == [
                Self.update(100), Self.update(200, stream: 0), Self.data(text),
                Self.data(text.replacing("a", with: "b"), stream: 3),
            ])
        let largest = Frame(type: 8, payload: [0x7F, 255, 255, 255])
        #expect(try merge([largest, Self.update(1), Self.update(1)]) == [largest, Self.update(2)])
    }

    @Test("However many streams there are, each frame finds its own among few")
    func streams() throws {
        let frames = (0..<6000).map { Self.data("x", stream: UInt32($0 * 2 + 1)) }
        #expect(try merge(frames) == frames)
        let inTurn = (0..<60).flatMap { _ in frames.prefix(100) }
        let found = try merge(inTurn)
        #expect(found.count == 100 && found.allSatisfy { $0.payload.count == 60 })
    }

    @Test("Frames without effect between those that are merged are dropped, and no others")
    func withoutEffect() throws {
        let priority = Frame(type: 2, stream: 9, payload: [0, 0, 0, 0, 16])
        let unknown = Frame(type: 0x20, flags: 255, stream: 0, payload: Array(repeating: 1, count: 300))
        let frames = (0..<100).flatMap { _ in [Self.data("a"), priority, Self.data("b"), unknown] }
        #expect(try merge(frames) == [Self.data(String(repeating: "ab", count: 100))])
        // Within a header block they are an error, and the codec has to see them.
        let block = [Frame(type: 1, payload: [1]), priority, unknown, Frame(type: 9, flags: 4, payload: [2])]
        let found = try merge([Self.data("1", stream: 3)] + block + [Self.data("a"), Self.data("b")])
        #expect(found == [Self.data("1", stream: 3)] + block + [Self.data("ab")])
    }

    @Test("Nothing passes a frame of another kind, the end of its stream, or what NIO has to judge")
    func order() throws {
        let kept: [[Frame]] = [
            [Self.data("a"), Frame(type: 6, stream: 0, payload: [0, 0, 0, 1, 0, 0, 0, 1]), Self.data("b")],
            [Self.data("a"), Frame(type: 2, stream: 0, payload: [0, 0, 0, 0, 16]), Self.data("b")],
            [Self.data("a"), Frame(type: 2, payload: [0, 0, 0, 0]), Self.data("b")],
            [Self.data("a"), Self.update(0), Self.data("b")],
            [Self.data("a"), Frame(type: 8, payload: [0, 0, 1]), Self.data("b")],
            [Self.data("a"), Frame(type: 1, flags: 5, payload: [1, 2, 3]), Self.data("b")],
            [Self.data("a"), Frame(type: 3, payload: [0, 0, 0, 8]), Self.data("b")],
            [Self.data("a", ends: true), Self.data("b")],
            [Self.data("a"), Self.data(""), Self.data("b")],
            [Self.data("a"), Frame(flags: 8, payload: [2, 2, 0]), Self.data("b")],
            [Self.data("a"), Frame(flags: 8, payload: [2, 0, 0]), Self.data("b")],
            [Self.data("a"), Self.data(String(repeating: "x", count: 10_000)), Self.data("b")],
        ]
        for frames in kept { #expect(try merge(frames) == frames) }
    }

    @Test(
        "Each DATA frame is counted once, as it was sent, and padding is worth nothing",
        arguments: [1, 9, 10, 33, 100_000])
    func counts(size: Int) throws {
        let frames = [
            Self.data("a"), Self.update(1), Self.data(""),
            Frame(flags: 8, payload: [255, 97] + Array(repeating: 0, count: 255)), Frame(type: 0x20, payload: [0]),
            Self.data(String(repeating: "x", count: 3000), ends: true),
        ]
        let bytes = Self.preface + frames.flatMap(\.bytes)
        /// What is counted, and whether there is output, of a client that may send so many frames.
        func count(most: Int) -> (counted: [Int], passes: Bool) {
            var merger = DataFrameMerger()
            var counted: [Int] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                let merged = merger.merge(ByteBuffer(bytes: bytes[start..<min(start + size, bytes.count)])) {
                    counted.append($0)
                    return counted.count <= most
                }
                if merged == nil { return (counted, false) }
            }
            return (counted, true)
        }
        #expect(count(most: 4) == ([1, 0, 1, 3000], true))
        #expect(count(most: 2) == ([1, 0, 1], false))
    }

    @Test("No frame is longer than every peer takes")
    func length() throws {
        let frames = try merge(Array(repeating: Self.data(String(repeating: "x", count: 4000)), count: 20))
        #expect(frames.count == 5 && frames.allSatisfy { $0.payload.count == 16_000 })
    }

    @Test("However the bytes are cut, every stream is what it was")
    func cuts() throws {
        var random = Numbers()
        for _ in 0..<200 {
            let size = [1, 2, 7, 8, 9, 10, 33, 100, 1000, 100_000][Int(random.next() % 10)]
            var frames: [Frame] = []
            for _ in 0..<60 {
                let stream = UInt32(random.next() % 3) * 2 + 1
                switch random.next() % 9 {
                case 0: frames.append(Frame(type: UInt8(random.next() % 10), stream: stream, payload: [1, 2, 3]))
                case 1: frames.append(Frame(flags: UInt8(random.next() % 16), stream: stream, payload: [1, 2, 3]))
                case 2: frames.append(Self.update(UInt8(random.next() % 3), stream: stream))
                default:
                    // Of long ones in tiny pieces there is little to learn for what it takes.
                    let isLong = random.next() % 9 == 0 && size > 10
                    let count = Int(random.next() % 40) + (isLong ? 5000 : 0)
                    frames.append(Frame(stream: stream, payload: (0..<count).map { UInt8($0 & 255) }))
                }
            }
            var merger = DataFrameMerger()
            let found = try merge(frames, size: size, by: &merger)
            let taken = merger.takePadding()
            #expect(found.count <= frames.count)
            for stream: UInt32 in [1, 3, 5] {
                // Data without flags may be cut in another way, and nothing else may be another.
                #expect(contents(found, stream) == contents(frames, stream))
                #expect(padding(found, stream) + taken[stream, default: 0] == padding(frames, stream))
                #expect(increments(found, stream) == increments(frames, stream))
            }
        }
    }

    /// The same in every run.
    private struct Numbers: RandomNumberGenerator {
        private var state: UInt64 = 7

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 33
        }
    }

    private func contents(_ frames: [Frame], _ stream: UInt32) -> [UInt8] {
        var contents: [UInt8] = []
        for frame in frames where frame.stream == stream && frame.increment == 0 {
            if frame.type == 0, let data = frame.data {
                contents += data
                if frame.flags & 1 == 1 || data.isEmpty { contents += [255, 255, frame.flags & 1] }
            } else {
                contents += frame.bytes
            }
        }
        return contents
    }

    private func padding(_ frames: [Frame], _ stream: UInt32) -> Int {
        frames.filter { $0.stream == stream && $0.type == 0 }.map { $0.payload.count - ($0.data?.count ?? 0) }
            .reduce(0, +)
    }

    private func increments(_ frames: [Frame], _ stream: UInt32) -> Int {
        frames.filter { $0.stream == stream }.map(\.increment).reduce(0, +)
    }
}
