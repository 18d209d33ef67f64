import Foundation
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct EventsTests {
    private func collect(_ signedIn: SignedIn) async throws -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        for try await event in signedIn.client.events(for: try signedIn.request("/v1/live")) { events.append(event) }
        return events
    }

    @Test func eventsUntilTheServerEnds() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(
            .text("retry: 0\ndata: 1\n\ndata: 2\n\n", mediaType: "text/event-stream; charset=utf-8"), .status(204))
        #expect(try await collect(signedIn).map(\.data) == ["1", "2"])
        let request = await signedIn.requests.first
        #expect(request?.bearer == "Bearer access-first")
        #expect(request?.value(forHTTPHeaderField: "Accept") == "text/event-stream")
    }

    @Test func aRefusedBearerIsRenewed() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(
            .problem(.tokenExpired), .json(Sample.auth("second")),
            .text("retry: 0\ndata: 1\n\n", mediaType: "text/event-stream"), .status(204))
        #expect(try await collect(signedIn).map(\.data) == ["1"])
        #expect(await signedIn.requests.last?.bearer == "Bearer access-second")
    }

    @Test("After the end of a response, the next request has the last id, and waits as long as the server asks")
    func resumes() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(
            .text("retry: 500\nid: 1\ndata: 1\n\nid: 2\n\n", mediaType: "text/event-stream"),
            .text("data: 2\n\n", mediaType: "text/event-stream"),
            .failure(.cannotConnectToHost), .failure(.cannotConnectToHost), .failure(.cannotConnectToHost),
            .text("id\ndata: 3\n\n", mediaType: "text/event-stream"), .status(204))
        let begun = signedIn.clock.monotonic
        let events = try await collect(signedIn)
        #expect(events.map(\.data) == ["1", "2", "3"] && events.map(\.id) == ["1", "2", nil])
        let ids = await signedIn.requests.map { $0.value(forHTTPHeaderField: "Last-Event-ID") }
        #expect(ids == [nil, "2", "2", "2", "2", "2", nil])
        #expect(signedIn.clock.monotonic - begun >= .milliseconds(2500))
    }

    @Test("A refusal after a lost connection ends the stream with its error")
    func refusedLater() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(
            .text("retry: 0\ndata: 1\n\n", mediaType: "text/event-stream"), .problem(.forbidden))
        await #expect { try await collect(signedIn) } throws: { ($0 as? GatehouseError)?.kind == .forbidden }
    }

    /// Lets time pass until the task is cancelled.
    private func passTime(of clock: ManualClock) -> Task<Void, Never> {
        Task {
            while !Task.isCancelled {
                clock.advance(by: .seconds(30))
                await Task.yield()
            }
        }
    }

    @Test("A stream does not go on for a user who has signed in meanwhile")
    func anotherUser() async throws {
        let signedIn = try await SignedIn()
        var other = Sample.auth("other")
        other.user.id = UUID()
        // A pause that the clock does not pass by itself, so that the sign-in comes before the next connection.
        await signedIn.transport.then(
            .text("retry: 20000\ndata: 1\n\n", mediaType: "text/event-stream"), .json(other))
        var events = signedIn.client.events(for: try signedIn.request()).makeAsyncIterator()
        #expect(try await events.next()?.data == "1")
        try await signedIn.client.signIn(identifier: "eve@example.com", password: "correct horse")
        let time = passTime(of: signedIn.clock)
        defer { time.cancel() }
        await #expect { _ = try await events.next() } throws: { ($0 as? GatehouseError)?.kind == .sessionEnded }
    }

    @Test("A stream whose session was locked meanwhile ends with that, and not as the end of the session")
    func lockedSession() async throws {
        let signedIn = try await SignedIn(store: ProtectedStore())
        // A pause that the clock does not pass by itself, so that the lock comes before the next connection.
        await signedIn.transport.then(.text("retry: 20000\ndata: 1\n\n", mediaType: "text/event-stream"))
        var events = signedIn.client.events(for: try signedIn.request()).makeAsyncIterator()
        #expect(try await events.next()?.data == "1")
        await signedIn.client.session.lock()
        let time = passTime(of: signedIn.clock)
        defer { time.cancel() }
        await #expect { _ = try await events.next() } throws: { ($0 as? GatehouseError)?.kind == .locked }
    }

    @Test("A request that is not idempotent is sent once")
    func sentOnce() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.text("data: 1\n\n", mediaType: "text/event-stream"))
        let request = try signedIn.request("/v1/questions", method: "POST")
        var data: [String] = []
        for try await event in signedIn.client.events(for: request) { data.append(event.data) }
        #expect(data == ["1"])
    }

    @Test func nothingToComeIsAnEnd() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.status(204))
        #expect(try await collect(signedIn).isEmpty)
    }

    @Test(arguments: [
        (FakeTransport.Reply.problem(.forbidden), GatehouseError.Kind.forbidden), (.text("<html>"), .unreadable),
        (.failure(.secureConnectionFailed), .unavailable), (.status(404), .notFound),
    ])
    func otherResponsesAreErrors(reply: FakeTransport.Reply, kind: GatehouseError.Kind) async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(reply)
        await #expect { try await collect(signedIn) } throws: { ($0 as? GatehouseError)?.kind == kind }
    }

    @Test func tooManyUnreadEventsAreAnError() async throws {
        let signedIn = try await SignedIn()
        let text = String(repeating: "data: x\n\n", count: GatehouseClient.mostWaitingEvents + 1)
        await signedIn.transport.then(.text(text, mediaType: "text/event-stream"), .status(204))
        let events = signedIn.client.events(for: try signedIn.request())
        // Until they wait, the client does not read: the request is the last thing before them.
        while await signedIn.requests.isEmpty { await Task.yield() }
        var count = 0
        do {
            for try await _ in events { count += 1 }
            #expect(count == GatehouseClient.mostWaitingEvents + 1)
        } catch let error as GatehouseError {
            #expect(error.kind == .misuse)
            #expect(count >= GatehouseClient.mostWaitingEvents)
        }
    }

    @Test func endingTheIterationEndsTheRequest() async throws {
        let login = String(decoding: try ClientJSON.encode(Sample.auth("first")), as: UTF8.self)
        let server = try LoopbackServer { request in
            request.line.hasPrefix("POST /v1/auth/login")
                ? .status("200 OK", body: login)
                : .open("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
        }
        let client = try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: server.url)), store: InMemoryTokenStore()))
        try await client.signIn(identifier: "ada@example.com", password: "correct horse")
        for try await event in client.events(for: URLRequest(url: try #require(URL(string: server.url + "/live")))) {
            #expect(event.data == "1")
            break
        }
        // The server sees the end of the connection.
        for await _ in server.departures { break }
        #expect(server.requests.last?.field("authorization") == "Bearer access-first")
    }
}
