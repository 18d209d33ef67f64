/// Bytes of request bodies that wait in the streams of an HTTP/2 connection.
///
/// NIO keeps all bytes within a stream's window until the stream reads them, even if the gateway has no memory for
/// them.
final class HTTP2WaitingData {
    /// Bytes that a stream may keep waiting, before and after it has read them, when the memory for bodies is used up.
    static let most = 4 * BufferBudget.least

    private let worker: Worker
    private var bytes: [UInt32: Int] = [:]

    init(of worker: Worker) { self.worker = worker }

    func add(_ count: Int, to stream: UInt32) {
        bytes[stream, default: 0] += count
        worker.requestBodies.change(by: count)
    }

    /// The stream has read all that waited, or has ended.
    func remove(_ stream: UInt32) {
        guard !bytes.isEmpty, let count = bytes.removeValue(forKey: stream) else { return }
        worker.requestBodies.change(by: -count)
    }

    /// Removes the bytes of streams that have ended. The rest of a frame may arrive after its stream was reset, and no
    /// stream reads it.
    func removeEnded(_ isOpen: (UInt32) -> Bool) {
        for stream in bytes.keys where !isOpen(stream) { remove(stream) }
    }

    /// The connection has ended.
    func removeAll() {
        worker.requestBodies.change(by: -bytes.values.reduce(0, +))
        bytes = [:]
    }

    /// The streams that have read too little of their waiting bytes.
    func excess() -> [UInt32] {
        bytes.isEmpty ? [] : bytes.filter { exceedsMemory($0.value) }.map(\.key)
    }

    /// Whether a stream with this many waiting bytes has to be reset now.
    func exceedsMemory(_ count: Int) -> Bool { count > Self.most && worker.requestBodies.isExhausted }
}
