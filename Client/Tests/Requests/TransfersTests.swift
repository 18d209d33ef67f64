import Foundation
import Synchronization
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct TransfersTests {
    @Test func anUploadWhoseBearerIsRefusedIsSentOnceMore() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data("photo".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.refusedBearer, .json(Sample.auth("second")), .status(201))
        let request = try signedIn.request("/v1/photos", method: "POST")
        let (_, response) = try await signedIn.client.upload(for: request, fromFile: file)
        #expect(response.statusCode == 201)
        let requests = await signedIn.requests
        #expect(requests.map(\.line) == ["POST /v1/photos", "POST /v1/auth/refresh", "POST /v1/photos"])
        #expect(requests.map(\.json).last == "photo")
        #expect(requests.last?.bearer == "Bearer access-second")
    }

    @Test func aFileThatIsNotThereIsTheAppsMistake() async throws {
        let signedIn = try await SignedIn()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        await #expect(throws: GatehouseError.self) {
            try await signedIn.client.upload(for: signedIn.request(method: "PUT"), fromFile: file)
        }
        #expect(await signedIn.requests.isEmpty)
    }

    @Test func aDownloadIsAFileOfItsOwnAndLeavesNoOther() async throws {
        let transport = FilesTransport()
        let signedIn = try await SignedIn(carrier: transport.following)
        await signedIn.transport.then(.status(503), .refusedBearer, .json(Sample.auth("second")), .text("content"))
        let (file, response) = try await signedIn.client.download(for: signedIn.request("/v1/photos/1"))
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(response.statusCode == 200)
        #expect(try Data(contentsOf: file) == Data("content".utf8))
        let files = transport.files.withLock { $0 }
        #expect(files.count == 3)
        #expect(files.filter { FileManager.default.fileExists(atPath: $0.path) } == [file])
    }

    @Test func aDownloadThatFailsLeavesNothing() async throws {
        let transport = FilesTransport()
        let signedIn = try await SignedIn(carrier: transport.following)
        await signedIn.transport.then(.problem(.tokenExpired), .problem(.invalidRefreshToken))
        await #expect(throws: GatehouseError.self) { try await signedIn.client.download(for: signedIn.request()) }
        let files = transport.files.withLock { $0 }
        #expect(files.count == 1)
        #expect(files.allSatisfy { !FileManager.default.fileExists(atPath: $0.path) })
    }

    @Test func aWebSocketCarriesTheBearer() async throws {
        let signedIn = try await SignedIn { SocketTransport(requests: $0) }
        let client = signedIn.client
        let request = URLRequest(url: try #require(URL(string: "wss://api.example.com/live")))
        let task = try await client.webSocketTask(for: request)
        #expect(task.originalRequest?.bearer == "Bearer access-first")
        #expect(task.state == .suspended)

        await signedIn.transport.then(.json(Sample.auth("second")))
        let next = try await client.webSocketTask(for: request, after: task)
        #expect(next.originalRequest?.bearer == "Bearer access-second")
        // The bearer has been renewed since that task was refused.
        let another = try await client.webSocketTask(for: request, after: task)
        #expect(another.originalRequest?.bearer == "Bearer access-second")
        // The server refuses the new bearer too, so another one would not help.
        let kept = try await client.webSocketTask(for: request, after: next)
        #expect(kept.originalRequest?.bearer == "Bearer access-second")
        #expect(await signedIn.requests.count == 1)
    }

    @Test func noForeignWebSocketIsOpened() async throws {
        let signedIn = try await SignedIn()
        let request = URLRequest(url: try #require(URL(string: "wss://evil.example.com/live")))
        await #expect { try await signedIn.client.webSocketTask(for: request) } throws: {
            ($0 as? GatehouseError)?.kind == .misuse
        }
    }
}

/// Remembers the files that were made.
private final class FilesTransport: Sendable {
    let files = Mutex<[URL]>([])

    func following(_ transport: FakeTransport) -> any GatehouseTransport { Recorder(transport: transport, log: self) }

    private struct Recorder: GatehouseTransport {
        let transport: FakeTransport
        let log: FilesTransport

        func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) { try await transport.send(request) }

        func download(_ request: URLRequest) async throws -> (URL, HTTPURLResponse) {
            let (file, response) = try await transport.download(request)
            log.files.withLock { $0.append(file) }
            return (file, response)
        }
    }
}

/// Makes sockets that the test does not open.
private struct SocketTransport: GatehouseTransport {
    let requests: FakeTransport
    let sockets = URLSessionTransport()

    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) { try await requests.send(request) }

    func webSocketTask(with request: URLRequest) -> URLSessionWebSocketTask { sockets.webSocketTask(with: request) }
}
