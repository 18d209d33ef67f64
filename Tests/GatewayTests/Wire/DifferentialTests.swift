import TestKit
import Testing

/// Whatever our scanner accepts, llhttp (the parser inside NIO, and of many a service behind the gateway) reads the
/// same way: same method, target, fields and body, same place where the next message begins.
@Suite("Against llhttp")
struct DifferentialTests {
    static let requests = [
        "GET /v1/auth/me?a=b&c=%20 HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\nAuthorization: Bearer abc.def\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Type: a/b\r\n\r\nhello"
            + "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        "PUT /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: u\r\n\r\n",
        "DELETE /a/b HTTP/1.1\r\nhost: h:8080\r\nConnection: close, x\r\nX:  \t v \t \r\nContent-Length: 0\r\n\r\n",
        "HEAD / HTTP/1.1\r\nHost: [::1]:80\r\nExpect: 100-continue\r\nUpgrade: h2c\r\n\r\n",
    ]
    static let responses = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: a/b\r\n\r\nhello",
        "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: u\r\n\r\n",
        "HTTP/1.1 204 No Content\r\nX: y\r\n\r\n",
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na",
        "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
    ]

    @Test("Requests", arguments: 0..<8)
    func requests(seed: Int) async throws {
        var mutator = Mutator(seed: seed)
        var accepted = 0
        for round in 0..<500 {
            await Task.yield()
            let bytes = mutator.mutated(Self.requests, unchanged: round < 10)
            guard !OurReader.requests(bytes).isEmpty else { continue }
            accepted += 1
            try RequestPathTarget.check(bytes)
        }
        // The test is worth something only if much of what it tries gets through.
        #expect(accepted > 50)
    }

    @Test("Answers", arguments: 0..<4)
    func responses(seed: Int) async throws {
        var mutator = Mutator(seed: seed)
        var accepted = 0
        for round in 0..<500 {
            await Task.yield()
            let bytes = mutator.mutated(Self.responses, unchanged: round < 10)
            guard let ours = OurReader.response(bytes) else { continue }
            accepted += 1
            try HTTPMessage.compare([ours], LLHTTPReader.responses(bytes), bytes)
        }
        #expect(accepted > 50)
    }
}

/// Changes good messages a little, with a bias to the bytes that parsers stumble over. The same seed gives the same.
struct Mutator {
    private static let pieces: [String] = [
        "\r", "\n", "\r\n", "\r\n\r\n", " ", "\t", ":", ";", ",", "\u{0}", "\u{7f}", "0", "1", "f", "%2e", "%", "/",
        "..", "?", "#", "\\", "\"", "Content-Length: 5\r\n", "Content-Length: 0\r\n", "Transfer-Encoding: chunked\r\n",
        "Host: i\r\n", "Connection: close\r\n", "X-A: b\r\n", "X-B:\r\n", " folded\r\n", "HTTP/1.1", "0\r\n\r\n",
        ";a=b", "chunked", "é", "\u{b}", "Expect: x\r\n", "X_Y: z\r\n", "X-C: \u{e9}\r\n",
    ]

    private var random: SeededGenerator

    init(seed: Int) { random = SeededGenerator(seed: UInt64(seed)) }

    mutating func mutated(_ corpus: [String], unchanged: Bool) -> [UInt8] {
        var bytes = Array(corpus.randomElement(using: &random)!.utf8)
        if unchanged { return bytes }
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let place = Int.random(in: 0...bytes.count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes.insert(contentsOf: Self.pieces.randomElement(using: &random)!.utf8, at: place)
            case 1: if place < bytes.count { bytes.remove(at: place) }
            case 2: if place < bytes.count { bytes[place] = UInt8.random(in: 0...255, using: &random) }
            case 3:
                // After a line's end, where whole lines fit.
                let ends = bytes.indices.filter { bytes[$0] == 10 }
                if let end = ends.randomElement(using: &random) {
                    bytes.insert(contentsOf: Self.pieces.randomElement(using: &random)!.utf8, at: end + 1)
                }
            case 4: bytes += Array(corpus.randomElement(using: &random)!.utf8)
            default: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 0...8, using: &random)))
            }
        }
        return bytes
    }
}
