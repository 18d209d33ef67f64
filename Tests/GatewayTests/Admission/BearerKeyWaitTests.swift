import GatehouseAccessTokens
import GatehouseBytes
import GatehouseTokenValidation
import Synchronization
import TestKit
import Testing

@testable import GatewayService

@Suite("Requests that wait for keys")
struct BearerKeyWaitTests {
    private static func options(_ change: (inout GatewaySettings) -> Void) -> GatewayHarness.Options {
        var options = GatewayHarness.Options.trustingPartner
        change(&options.settings)
        return options
    }

    @Test("Other keys arrive while a request waits for its own: its time does not begin again")
    func bounded() async throws {
        let options = Self.options { $0.keyTimeout = .milliseconds(300) }
        try await GatewayHarness.withGateway(options) { gateway in
            let keys = gateway.gateway.keys
            let others = try [RSAPrivateKey.generate().publicKey, RSAPrivateKey.generate().publicKey]
            try keys.replace(VerificationKeySet(keys: others), of: 1)
            let changes = Mutex(0)
            // Gatehouse's own keys change all the time; the fetch of the other issuer's, which is demanded, never ends.
            let changing = Task {
                while !Task.isCancelled {
                    let number = changes.withLock { changes in
                        changes += 1
                        return changes
                    }
                    let further = number.isMultiple(of: 2) ? [] : [others[0]]
                    try keys.replace(VerificationKeySet(keys: [GatewayHarness.key.publicKey] + further))
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            defer { changing.cancel() }
            let answer = try await gateway.send(
                "GET /partner", token: try GatewayHarness.token(key: RSAPrivateKey.generate()))
            #expect(answer.status == 503 && answer.code == "UNAVAILABLE")
            #expect(changes.withLock { $0 } > 2)
            #expect(gateway.team.begun == 0)
        }
    }

    @Test("A waiting request is woken several times: it counts once for its address, and its time runs on")
    func countedOnce() async throws {
        let options = Self.options {
            $0.keyTimeout = .seconds(60)
            $0.addressLimit = RateLimit(capacity: 2, perSecond: 0.001)
        }
        try await GatewayHarness.withGateway(options) { gateway in
            let keys = gateway.gateway.keys
            let (own, next) = (GatewayHarness.key.publicKey, try RSAPrivateKey.generate())
            let others = try [RSAPrivateKey.generate().publicKey, RSAPrivateKey.generate().publicKey]
            try keys.replace(VerificationKeySet(keys: others), of: 1)
            let client = try await gateway.connect()
            try await client.send(GatewayHarness.request("GET /partner", token: try GatewayHarness.token(key: next)))
            for await _ in keys.demanded(of: 1) { break }
            // Each of these wakes the request. The fetch of the partner's keys has not ended, so it waits again.
            for other in others { try keys.replace(VerificationKeySet(keys: [own, other])) }
            try await Task.sleep(for: .milliseconds(300))
            try keys.replace(VerificationKeySet(keys: [own, next.publicKey]))
            let answer = try await client.answer()
            #expect(answer.status == 200)
            let waited = gateway.team.requests.first?.field("Gatehouse-Waited-Ms").flatMap { Int($0) }
            #expect(waited ?? 0 >= 300)
            let second = try await gateway.send("GET /open")
            #expect(second.status == 200)
            let third = try await gateway.send("GET /open")
            #expect(third.status == 429)
        }
    }

    @Test("A request waits for a key: it has a permit, and releases it")
    func permits() async throws {
        try await GatewayHarness.withGateway(Self.options { $0.maximumRequestsInFlight = 1 }) { gateway in
            let next = try RSAPrivateKey.generate()
            let client = try await gateway.connect()
            func statuses() async throws -> [Int] {
                var statuses: [Int] = []
                for _ in 0..<4 { statuses.append(try await gateway.send("GET /open").status) }
                return statuses
            }
            try await client.send(GatewayHarness.request("GET /team", token: try GatewayHarness.token(key: next)))
            for await _ in gateway.gateway.keys.demanded(of: 0) { break }
            try await eventually("its permit is taken") { try await statuses().contains(503) }
            try gateway.gateway.keys.replace(VerificationKeySet(keys: [next.publicKey]))
            #expect(try await client.answer().status == 200)
            try await eventually("nothing is in flight") { try await statuses() == [200, 200, 200, 200] }

            // Nor does one that leaves keep it.
            let leaving = try await gateway.connect()
            let unknown = try GatewayHarness.token(key: RSAPrivateKey.generate())
            #expect(gateway.gateway.keys.beginFetch())
            try await leaving.send(GatewayHarness.request("GET /team", token: unknown))
            try await eventually("its permit is taken") { try await statuses().contains(503) }
            await leaving.close()
            try await eventually("nothing is in flight") { try await statuses() == [200, 200, 200, 200] }
        }
    }

    @Test("Those that wait for a partner's keys leave permits for all others")
    func partner() async throws {
        let options = Self.options {
            $0.maximumRequestsInFlight = 16
            $0.keyTimeout = .seconds(60)
        }
        try await GatewayHarness.withGateway(options) { gateway in
            try gateway.gateway.keys.replace(VerificationKeySet(keys: [RSAPrivateKey.generate().publicKey]), of: 1)
            let token = try GatewayHarness.token(key: RSAPrivateKey.generate())
            var clients: [RawClient] = []
            for _ in 0..<16 {
                let client = try await gateway.connect()
                try await client.send(GatewayHarness.request("GET /partner", token: token))
                clients.append(client)
            }
            // Two thirds of the twelve permits that are not kept for Gatehouse's own services.
            var refused = 0
            for client in clients {
                guard let answer = try? await client.answer(within: .milliseconds(500)) else { continue }
                #expect(answer.status == 503 && answer.code == "UNAVAILABLE")
                refused += 1
            }
            #expect(refused == 8)
            #expect(try await gateway.send("GET /open").status == 200)
            #expect(try await gateway.send("POST /v1/auth/refresh", body: "{}").status == 200)
            for client in clients { await client.close() }
        }
    }
}
