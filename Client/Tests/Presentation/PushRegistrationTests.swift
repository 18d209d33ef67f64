import Foundation
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Push registration beside a session")
struct PushRegistrationTests {
    private let file = FileManager.default.temporaryDirectory
        .appendingPathComponent("push-\(UUID().uuidString)/record.json")
    private let device = GatehouseClient.Device(
        id: UUID(), environment: .sandbox, bundleId: "com.example.app", kind: .alert, status: .active,
        createdAt: Date(timeIntervalSince1970: 1_800_000_000), updatedAt: Date(timeIntervalSince1970: 1_800_000_000))

    private func push(_ client: GatehouseClient, version: String = "1.0") -> PushRegistration {
        PushRegistration(
            client: client, environment: .sandbox, bundleID: "com.example.app", appVersion: version, file: file)
    }

    private func remove() { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }

    @Test("Registered with the token once, not again at the next launch, and taken off the list with the sign-out")
    func life() async throws {
        defer { remove() }
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.json(device), .status(204), .status(204))
        let push = push(signedIn.client)
        await signedIn.client.session.add(push)
        await push.received(deviceToken: Data([0xab, 0xcd]))
        try await until("the record is kept") { FileManager.default.fileExists(atPath: file.path) }
        let request = try #require(await signedIn.requests.first)
        #expect(request.line == "POST /v1/devices/register")
        let body = try ClientJSON.decode(Registration.self, from: try #require(request.httpBody))
        #expect(body.token == "abcd" && body.environment == .sandbox && body.bundleId == "com.example.app")
        #expect(body.appVersion == "1.0" && body.locale != nil && body.timeZone != nil)

        // The next launch: the same token, the same user.
        let next = self.push(signedIn.client)
        await next.sessionBegan(Sample.user)
        await next.received(deviceToken: Data([0xab, 0xcd]))
        await next.cameToForeground()
        #expect(await signedIn.requests.count == 1)

        try await signedIn.client.signOut()
        // The server detaches the device with the session.
        #expect(await signedIn.requests.dropFirst().map(\.line) == ["POST /v1/auth/logout"])
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    @Test("Tokens of Live Activities are registered beside the device's, and unregistered when the activity ends")
    func activities() async throws {
        defer { remove() }
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.json(device), .json(device), .status(204))
        let push = push(signedIn.client)
        // Before the sign-in: registered with it.
        await push.received(token: Data([1]), forActivity: "order-7", attributesType: "DeliveryAttributes")
        await push.sessionBegan(Sample.user)
        try await until("the activity is registered") { await signedIn.requests.count == 1 }
        await push.received(token: Data([2]), toStart: "DeliveryAttributes")
        try await until("the start is registered") { await signedIn.requests.count == 2 }
        let bodies = try await signedIn.requests.map {
            try ClientJSON.decode(Registration.self, from: try #require($0.httpBody))
        }
        #expect(bodies.map(\.kind) == [.liveactivity, .pushtostart])
        #expect(bodies.map(\.activity) == ["order-7", nil])
        #expect(bodies.map(\.attributesType) == ["DeliveryAttributes", "DeliveryAttributes"])
        #expect(bodies.map(\.token) == ["01", "02"])
        #expect(!FileManager.default.fileExists(atPath: file.path), "the record is of notifications only")

        try await until("the activity is unregistered") {
            await push.ended(activity: "order-7")
            return await signedIn.requests.count == 3
        }
        #expect(
            await signedIn.requests.last?.line == "DELETE /v1/devices/\(device.id.uuidString.lowercased())")
    }

    @Test("The user's permission is sent with each token, and once more when it changes")
    func permission() async throws {
        defer { remove() }
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.json(device), .json(device), .json(device), .json(device))
        let push = push(signedIn.client)
        await push.sessionBegan(Sample.user)
        await push.received(alertsAllowed: false)
        await push.received(deviceToken: Data([1]))
        try await until("the device is registered") { await signedIn.requests.count == 1 }
        await push.received(token: Data([2]), toStart: "DeliveryAttributes")
        try await until("the start is registered") { await signedIn.requests.count == 2 }
        try await until("both are registered again") {
            await push.received(alertsAllowed: true)
            return await signedIn.requests.count == 4
        }
        let bodies = try await signedIn.requests.map {
            try ClientJSON.decode(Registration.self, from: try #require($0.httpBody))
        }
        #expect(bodies.map(\.alertsAllowed) == [false, false, true, true])
        #expect(bodies.prefix(2).map(\.token) == ["01", "02"] && Set(bodies.suffix(2).map(\.token)) == ["01", "02"])
    }

    @Test("A failed registration is retried when the app comes to the foreground")
    func triesAgain() async throws {
        defer { remove() }
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.problem(.invalidRequest), .json(device))
        let push = push(signedIn.client)
        await push.sessionBegan(Sample.user)
        await push.received(deviceToken: Data([1]))
        try await until("the second registration") {
            await push.cameToForeground()
            return FileManager.default.fileExists(atPath: file.path)
        }
        #expect(await signedIn.requests.map(\.line) == Array(repeating: "POST /v1/devices/register", count: 2))
    }

    @Test("The record is read with the first event, not while the app launches")
    func readsLater() async throws {
        defer { remove() }
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.json(device))
        let first = push(signedIn.client)
        await first.sessionBegan(Sample.user)
        await first.received(deviceToken: Data([1]))
        try await until("the record is kept") { FileManager.default.fileExists(atPath: file.path) }
        let later = push(signedIn.client)
        // With the record, the device would not be registered again.
        try FileManager.default.removeItem(at: file)
        await signedIn.transport.then(.json(device))
        await later.sessionBegan(Sample.user)
        await later.received(deviceToken: Data([1]))
        try await until("the device is registered again") { await signedIn.requests.count == 2 }
    }

    @Test("The registration does not keep its client")
    func released() async throws {
        var client: GatehouseClient? = try await SignedIn().client
        weak let watched = client
        weak let session = client?.session
        let push = push(try #require(client))
        await client?.session.add(push)
        client = nil
        try await until("released") { watched == nil && session == nil }
        await push.received(deviceToken: Data([1]))
    }

    @Test("A record that cannot be read is none")
    func damaged() async throws {
        defer { remove() }
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data("{".utf8).write(to: file)
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.json(device))
        let push = push(signedIn.client)
        await push.sessionBegan(Sample.user)
        await push.received(deviceToken: Data([1]))
        try await until("a registration") { await signedIn.requests.count == 1 }
    }

    @Test("A folder that cannot be written costs a registration more, nothing else")
    func unwritable() async throws {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("push-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: place) }
        try Data().write(to: place)
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.json(device), .json(device))
        for launch in 1...2 {
            let push = PushRegistration(
                client: signedIn.client, environment: .sandbox, file: place.appendingPathComponent("record.json"))
            await push.sessionBegan(Sample.user)
            await push.received(deviceToken: Data([1]))
            try await until("registered") { await signedIn.requests.count == launch }
        }
    }
}
