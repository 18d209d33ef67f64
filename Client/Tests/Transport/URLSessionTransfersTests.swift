import Foundation
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Files and streams, over real sockets.
struct URLSessionTransfersTests {
    private let transport = URLSessionTransport()

    private func request(_ server: LoopbackServer, _ path: String = "/") throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: server.url + path)))
        request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
        return request
    }

    @Test func aFileIsSent() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data(repeating: 7, count: 300_000).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let server = try LoopbackServer { _ in .status("201 Created", body: "done") }
        var request = try request(server)
        request.httpMethod = "PUT"
        let (body, response) = try await transport.upload(request, fromFile: file)
        #expect(response.statusCode == 201)
        #expect(body == Data("done".utf8))
        #expect(server.requests.first?.body == Data(repeating: 7, count: 300_000))
    }

    @Test func aFileIsReceivedAlsoElsewhere() async throws {
        let store = try LoopbackServer { _ in .status("200 OK", body: "content") }
        let server = try LoopbackServer { [url = store.url] _ in .status("302 Found", ["Location: \(url)/x"], body: "-")
        }
        let (file, response) = try await transport.download(try request(server))
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(response.statusCode == 200)
        #expect(try Data(contentsOf: file) == Data("content".utf8))
        #expect(store.requests.first?.field("authorization") == nil)
    }

    @Test func aStreamComesAsItIsSent() async throws {
        let server = try LoopbackServer { _ in .open("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nfirst")
        }
        let (pieces, response) = try await transport.stream(try request(server))
        #expect(response.statusCode == 200)
        for try await piece in pieces {
            #expect(piece == Data("first".utf8))
            break
        }
    }

    @Test func aStreamEndsWithTheResponse() async throws {
        let server = try LoopbackServer { request in
            request.line.contains("/old")
                ? .status("302 Found", ["Location: /new"]) : .status("200 OK", body: "all of it")
        }
        let (pieces, _) = try await transport.stream(try request(server, "/old"))
        var body = Data()
        for try await piece in pieces { body += piece }
        #expect(body == Data("all of it".utf8))
        #expect(server.requests.count == 2)
    }

    @Test func aStreamThatIsCutThrows() async throws {
        let server = try LoopbackServer { _ in .pieces(["HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf"]) }
        let (pieces, _) = try await transport.stream(try request(server))
        await #expect(throws: (any Error).self) { for try await _ in pieces {} }
    }

    @Test func aStreamWithoutAHeadThrows() async throws {
        let server = try LoopbackServer { _ in .pieces([]) }
        await #expect(throws: (any Error).self) { try await transport.stream(request(server)) }
    }

    @Test func aRefusedStreamIsAnAnswer() async throws {
        let server = try LoopbackServer { _ in .status("401 Unauthorized", ["WWW-Authenticate: Bearer"], body: "no") }
        let (pieces, response) = try await transport.stream(try request(server))
        #expect(response.statusCode == 401)
        var body = Data()
        for try await piece in pieces { body += piece }
        #expect(body == Data("no".utf8))
    }

    @Test func aTransportOfOnesOwnNeedsNothingButSend() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data("body".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let fake = FakeTransport(.text("up"), .text("down"), .text("stream"))
        let request = URLRequest(url: try #require(URL(string: "https://api.example.com/")))
        _ = try await fake.upload(request, fromFile: file)
        #expect(await fake.requests.first?.httpBody == Data("body".utf8))
        let (received, _) = try await fake.download(request)
        #expect(try Data(contentsOf: received) == Data("down".utf8))
        try FileManager.default.removeItem(at: received)
        let (pieces, _) = try await fake.stream(request)
        var body = Data()
        for try await piece in pieces { body += piece }
        #expect(body == Data("stream".utf8))
        #expect(throws: GatehouseError.self) { try fake.webSocketTask(with: request) }
    }
}
