import Foundation
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Refusals of a team's own endpoints, and their answers that the client cannot read.
struct RefusalTests {
    private struct Order: Codable, Sendable {
        var id: Int
    }

    private struct Reason: Codable, Sendable, Equatable {
        var why: String
    }

    private func refused(
        _ reply: FakeTransport.Reply, _ endpoint: GatehouseEndpoint<Order> = GatehouseEndpoint("POST", "/v1/orders")
    ) async throws -> GatehouseError {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(reply)
        return try #require(
            await #expect(throws: GatehouseError.self) { try await signedIn.client.send(endpoint) } as GatehouseError?)
    }

    @Test(arguments: [402, 406, 409, 411, 412, 416, 418, 421, 423, 424, 426, 428, 451])
    func refusalsAreNotRetryable(status: Int) async throws {
        let error = try await refused(.status(status))
        #expect(error.retry == .never)
        #expect(error.message(in: "en") != GatehouseError(.server).message(in: "en"))
    }

    @Test func aServiceSaysWhyInItsOwnWords() async throws {
        let error = try await refused(.json(Reason(why: "already-paid"), status: 409))
        #expect(error.kind == .refused && error.status == 409)
        #expect(try ClientJSON.decode(Reason.self, from: #require(error.body).value) == Reason(why: "already-paid"))
        // Also where the kind is a more general one.
        let gone = try await refused(.json(Reason(why: "sold out"), status: 404))
        #expect(gone.kind == .notFound && gone.status == 404 && gone.body != nil)
    }

    @Test func bodiesOfServicesAreNotPrinted() async throws {
        let error = try await refused(.json(Reason(why: "already-paid"), status: 409))
        var dumped = ""
        dump(error, to: &dumped)
        for text in [dumped, "\(error)", String(reflecting: error), error.message(in: "en")] {
            #expect(!text.contains("already-paid"))
        }
    }

    @Test func aLongBodyIsNotKept() async throws {
        let most = GatehouseError.maximumBodyBytes
        for (count, isKept) in [(most, true), (most + 1, false)] {
            var reply = FakeTransport.Reply.status(409)
            reply.body = Data(count: count)
            let error = try await refused(reply)
            #expect(error.status == 409)
            #expect((error.body?.value.count == count) == isKept && (error.body != nil) == isKept)
        }
    }

    @Test func whereNothingWasAnsweredThereIsNoStatus() {
        let error = GatehouseError.of(URLError(.timedOut))
        #expect(error.status == nil && error.body == nil)
    }

    @Test func anUnreadableAnswerIsNotRetried() async throws {
        let error = try await refused(.json(["order": 7]))
        #expect(error.kind == .unreadable && error.retry == .never && error.status == 200)
        // The answer of a success may hold a secret.
        #expect(error.body == nil)
        #expect(error.message(in: "en") != GatehouseError(.server).message(in: "en"))

        let signedIn = try await SignedIn()
        await signedIn.transport.then(.text("<html>"))
        let own = await #expect(throws: GatehouseError.self) { try await signedIn.client.me() }
        #expect(own?.retry == .never)
    }

    @Test(arguments: [("en", "too short"), ("he", "קצרה מדי"), ("ru", "слишком короткий"), ("ar", "قصيرة جدًا")])
    func aWeakPasswordMayBeTooShort(language: String, words: String) {
        #expect(GatehouseError(.weakPassword).message(in: language).contains(words))
    }
}
