import Foundation
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Servers that refuse new bearers") struct BearerRefusalsTests {
    private let server = Origin(URL(string: "https://api.example.com")!)!
    private let other = Origin(URL(string: "https://files.example.com")!)!
    private let start = Duration.seconds(1000)

    private func token(issued seconds: Int?) -> GatehouseAccessToken {
        GatehouseAccessToken(Redacted("token"), issuedAt: seconds.map { start + .seconds($0) })
    }

    /// A server whose refusal has led to a bearer at the start.
    private func renewed() -> BearerRefusals {
        var refusals = BearerRefusals()
        refusals.renewed(for: server, at: start)
        return refusals
    }

    @Test("The first refusal leads to a refresh, even of a new bearer")
    func first() {
        var refusals = BearerRefusals()
        #expect(refusals.decision(after: token(issued: 0), by: server, at: start) == .refresh)
    }

    @Test("A new bearer is not refreshed again for the same server, which is logged once")
    func again() {
        var refusals = renewed()
        let decisions = [1, 5, 59].map {
            refusals.decision(after: token(issued: 0), by: server, at: start + .seconds($0))
        }
        #expect(decisions == [.keep(isFirst: true), .keep(isFirst: false), .keep(isFirst: false)])
        // Nor after a minute is it logged again.
        #expect(refusals.decision(after: token(issued: 0), by: server, at: start + .seconds(60)) == .refresh)
        refusals.renewed(for: server, at: start + .seconds(60))
        let later = refusals.decision(after: token(issued: 60), by: server, at: start + .seconds(61))
        #expect(later == .keep(isFirst: false))
    }

    @Test("Two servers do not alternate: a bearer that the other's refusal led to is new as well")
    func alternating() {
        var refusals = renewed()
        #expect(refusals.decision(after: token(issued: 0), by: other, at: start + .seconds(1)) == .refresh)
        refusals.renewed(for: other, at: start + .seconds(1))
        #expect(
            refusals.decision(after: token(issued: 1), by: server, at: start + .seconds(2)) == .keep(isFirst: true))
        #expect(
            refusals.decision(after: token(issued: 1), by: other, at: start + .seconds(2)) == .keep(isFirst: true))
    }

    @Test("An old bearer is refreshed, and one of unknown age", arguments: [-60, nil])
    func old(issued: Int?) {
        var refusals = renewed()
        #expect(refusals.decision(after: token(issued: issued), by: server, at: start + .seconds(1)) == .refresh)
    }

    @Test("A server that has accepted the bearer and refuses it later may know that the session has ended")
    func accepted() {
        var refusals = renewed()
        refusals.accepted(by: server)
        #expect(refusals.decision(after: token(issued: 0), by: server, at: start + .seconds(1)) == .refresh)
    }

    @Test("Twenty calls of a service that refuses each bearer cost one refresh, and one event")
    func calls() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.refusedBearer, .json(Sample.auth("second")), .refusedBearer)
        await signedIn.transport.then(Array(repeating: .refusedBearer, count: 19))
        for _ in 0..<20 {
            #expect(try await signedIn.client.data(for: signedIn.request(method: "POST")).1.statusCode == 401)
        }
        #expect(await signedIn.requests.filter { $0.line == "POST /v1/auth/refresh" }.count == 1)
        let events = signedIn.telemetry.events.filter { $0.name == .newBearerRefused }
        #expect(events.map(\.reason) == ["https://api.example.com:443"])
        // A minute later the service gets one more chance.
        signedIn.clock.advance(by: .seconds(61))
        await signedIn.transport.then(.refusedBearer, .json(Sample.auth("third")), .text("done"))
        #expect(try await signedIn.client.data(for: signedIn.request()).1.statusCode == 200)
    }

    @Test("A late refusal of the bearer before leads to the session's present one, without a refresh")
    func late() async throws {
        let signedIn = try await SignedIn()
        let former = try await signedIn.client.session.accessToken()
        await signedIn.transport.then(.refusedBearer, .json(Sample.auth("second")), .refusedBearer)
        _ = try await signedIn.client.data(for: signedIn.request())
        let present = try await signedIn.client.session.accessToken()
        #expect(present != former)
        #expect(try await signedIn.client.renewed(former, refusedBy: server) == present)
        #expect(try await signedIn.client.renewed(present, refusedBy: server) == nil)
    }

    @Test("The end of the session is noticed after a refresh that the server has accepted")
    func ended() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(
            .refusedBearer, .json(Sample.auth("second")), .text("done"), .refusedBearer,
            .problem(.invalidRefreshToken))
        _ = try await signedIn.client.data(for: signedIn.request())
        let error = await #expect(throws: GatehouseError.self) {
            try await signedIn.client.data(for: signedIn.request())
        }
        #expect(error?.kind == .sessionEnded)
    }
}
