import NIOCore

/// Takes a body out of a connection's bytes, and nothing that follows it.
struct BodyReader {
    enum Part: Equatable {
        case data(ByteBuffer)
        /// The body is complete. A chunked one may carry trailer lines: those that may be forwarded.
        case end(trailers: ByteBuffer?)
    }

    private enum State {
        case remaining(Int)
        case untilClose
        case chunked(ChunkReader)
        case ended
    }

    private var state: State

    /// - Parameter connectionOptions: names of trailer fields that go no further.
    init(_ framing: BodyFraming, connectionOptions: [[UInt8]] = []) {
        state =
            switch framing {
            case .length(let length): .remaining(length)
            case .chunked: .chunked(ChunkReader(connectionOptions: connectionOptions))
            case .untilClose: .untilClose
            }
    }

    /// The next part; `nil` when more bytes are needed.
    mutating func next(from input: inout ByteBuffer) throws(HeadFault) -> Part? {
        switch state {
        case .ended: return nil
        case .untilClose:
            guard input.readableBytes > 0 else { return nil }
            return .data(input.readSlice(length: input.readableBytes)!)
        case .remaining(0):
            state = .ended
            return .end(trailers: nil)
        case .remaining(let remaining):
            let count = min(remaining, input.readableBytes)
            guard count > 0 else { return nil }
            state = .remaining(remaining - count)
            return .data(input.readSlice(length: count)!)
        case .chunked(var reader):
            let part = try reader.next(from: &input)
            if case .end = part { state = .ended } else { state = .chunked(reader) }
            return part
        }
    }

    /// The connection has ended. `true` when that is the body's proper end.
    var endsWithConnection: Bool {
        if case .untilClose = state { true } else { false }
    }
}
