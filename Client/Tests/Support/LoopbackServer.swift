import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A small HTTP server on this machine: one connection, one request, one answer.
final class LoopbackServer: Sendable {
    /// What a client sent.
    struct Request: Sendable {
        var head: String
        var body: Data

        /// `GET /path HTTP/1.1`
        var line: String { head.components(separatedBy: "\r\n")[0] }

        func field(_ name: String) -> String? {
            head.components(separatedBy: "\r\n").dropFirst().lazy
                .map { $0.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) } }
                .first { $0.count == 2 && $0[0].lowercased() == name.lowercased() }?[1]
        }
    }

    enum Answer: Sendable {
        /// Head and body, as they go over the wire, one after the other.
        case pieces([String])
        /// The head and nothing more until the client goes.
        case open(String)
        /// Not a byte until the client goes.
        case silence

        static func status(_ status: String, _ fields: [String] = [], body: String = "") -> Self {
            let head = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)", "Connection: close"] + fields
            return .pieces([(head + ["", ""]).joined(separator: "\r\n") + body])
        }
    }

    struct Failure: Error {
        var call: String
        var code = errno
    }

    let port: UInt16
    private let listener: Int32
    private let log = Log()
    /// Each request as it comes.
    let arrivals: AsyncStream<Request>
    private let arrival: AsyncStream<Request>.Continuation
    /// Each client that went before it had a whole answer.
    let departures: AsyncStream<Void>
    private let departure: AsyncStream<Void>.Continuation

    var requests: [Request] { log.requests.withLock { $0 } }
    var url: String { "http://127.0.0.1:\(port)" }

    private final class Log: Sendable {
        let requests = Mutex<[Request]>([])
    }

    init(answer: @escaping @Sendable (Request) -> Answer) throws {
        #if canImport(Glibc)
            let stream = Int32(SOCK_STREAM.rawValue)
        #else
            let stream = SOCK_STREAM
        #endif
        listener = socket(AF_INET, stream, 0)
        guard listener >= 0 else { throw Failure(call: "socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard isListening else {
            close(listener)
            throw Failure(call: "bind")
        }
        port = UInt16(bigEndian: address.sin_port)
        (arrivals, arrival) = AsyncStream.makeStream(of: Request.self)
        (departures, departure) = AsyncStream.makeStream(of: Void.self)
        Thread.detachNewThread { [log, arrival, departure] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                Thread.detachNewThread {
                    defer { close(connection) }
                    guard let request = Self.read(connection) else { return }
                    log.requests.withLock { $0.append(request) }
                    arrival.yield(request)
                    if Self.write(answer(request), to: connection) { departure.yield() }
                }
            }
        }
    }

    deinit {
        arrival.finish()
        departure.finish()
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private static func read(_ connection: Int32) -> Request? {
        var bytes = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            if let end = bytes.firstRange(of: Data("\r\n\r\n".utf8)) {
                var request = Request(head: String(decoding: bytes[..<end.lowerBound], as: UTF8.self), body: Data())
                let length = request.field("Content-Length").flatMap(Int.init) ?? 0
                if bytes.count - end.upperBound >= length {
                    request.body = Data(bytes[end.upperBound...].prefix(length))
                    return request
                }
            }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes += buffer[..<count]
        }
    }

    /// - Returns: whether the client went first.
    private static func write(_ answer: Answer, to connection: Int32) -> Bool {
        switch answer {
        case .pieces(let pieces):
            for piece in pieces { write(piece, to: connection) }
            return false
        case .open(let head): write(head, to: connection)
        case .silence: break
        }
        var byte: UInt8 = 0
        while recv(connection, &byte, 1, 0) > 0 {}
        return true
    }

    private static func write(_ text: String, to connection: Int32) {
        #if canImport(Glibc)
            let flags = Int32(MSG_NOSIGNAL)
        #else
            let flags: Int32 = 0
        #endif
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, flags) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
