import Foundation
import Testing

@testable import GatehouseClient

@Suite("When a device is registered for push notifications")
struct PushRegistrarTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)
    private let token = EncodedPushToken(Data([1, 2, 3]))
    private let ada = UUID()
    private let device = UUID()

    /// A user is signed in and registered.
    private func registered() -> (PushRegistrar, PushRegistrar.Record) {
        var registrar = PushRegistrar(record: nil, appVersion: "1.0")
        #expect(registrar.handle(.token(token), now: now) == [])
        let attempt = begun(registrar.handle(.signedIn(ada), now: now))
        let actions = registrar.handle(.registered(device: device, attempt!), now: now)
        guard case .keep(let record?) = actions.first, actions.count == 1 else {
            Issue.record("nothing is kept")
            return (
                registrar,
                PushRegistrar.Record(fingerprint: 0, user: ada, appVersion: "", device: device, registeredAt: now)
            )
        }
        return (registrar, record)
    }

    private func begun(_ actions: [PushRegistrar.Action]) -> PushRegistrar.Attempt? {
        for case .register(let attempt) in actions { return attempt }
        return nil
    }

    @Test("Once there are a token and a user, in any order")
    func order() {
        var registrar = PushRegistrar(record: nil, appVersion: "1.0")
        #expect(registrar.handle(.signedIn(ada), now: now) == [])
        let attempt = begun(registrar.handle(.token(token), now: now))
        #expect(attempt?.token == token && attempt?.user == ada)
        #expect(registered().1.device == device)
    }

    @Test("Nothing new, nothing to do; one at a time")
    func once() {
        var (registrar, _) = registered()
        #expect(registrar.handle(.token(token), now: now) == [])
        #expect(registrar.handle(.signedIn(ada), now: now) == [])
        #expect(registrar.handle(.foreground, now: now) == [])

        var busy = PushRegistrar(record: nil, appVersion: "1.0")
        _ = busy.handle(.token(token), now: now)
        #expect(busy.handle(.signedIn(ada), now: now).count == 1)
        #expect(busy.handle(.token(token), now: now) == [])
        #expect(busy.handle(.foreground, now: now) == [])
    }

    @Test("Another token, another user, another version, a day later: again; a clock that was set back, too")
    func changes() {
        let (registrar, record) = registered()
        var other = registrar
        #expect(begun(other.handle(.token(EncodedPushToken(Data([9]))), now: now)) != nil)
        other = registrar
        #expect(begun(other.handle(.signedIn(UUID()), now: now)) != nil)
        other = registrar
        #expect(begun(other.handle(.foreground, now: now + PushRegistrar.renewal)) != nil)
        other = registrar
        #expect(begun(other.handle(.foreground, now: now - PushRegistrar.renewal)) != nil)

        for (version, expected) in [("1.0", false), ("1.1", true)] {
            var launched = PushRegistrar(record: record, appVersion: version)
            _ = launched.handle(.signedIn(ada), now: now + 3600)
            #expect((begun(launched.handle(.token(token), now: now + 3600)) != nil) == expected)
        }
    }

    @Test("The token changes while the old one is being registered: the new one follows")
    func changesMeanwhile() throws {
        var registrar = PushRegistrar(record: nil, appVersion: "1.0")
        _ = registrar.handle(.signedIn(ada), now: now)
        let first = try #require(begun(registrar.handle(.token(token), now: now)))
        let newer = EncodedPushToken(Data([4]))
        #expect(registrar.handle(.token(newer), now: now) == [])
        var failing = registrar
        #expect(begun(failing.handle(.failed(first), now: now))?.token == newer)
        #expect(begun(registrar.handle(.registered(device: device, first), now: now))?.token == newer)
    }

    @Test("The user's permission travels with the registration, and a change of it registers again")
    func permission() throws {
        var registrar = PushRegistrar(record: nil, appVersion: "1.0")
        _ = registrar.handle(.signedIn(ada), now: now)
        #expect(registrar.handle(.alertsAllowed(false), now: now) == [])
        let first = try #require(begun(registrar.handle(.token(token), now: now)))
        #expect(first.alertsAllowed == false)
        // It changes during a registration that fails.
        var failing = registrar
        #expect(failing.handle(.alertsAllowed(true), now: now) == [])
        #expect(begun(failing.handle(.failed(first), now: now))?.alertsAllowed == true)
        let kept = registrar.handle(.registered(device: device, first), now: now)
        var record: PushRegistrar.Record?
        if case .keep(let new) = kept.first { record = new }
        #expect(record?.alertsAllowed == false)
        #expect(registrar.handle(.alertsAllowed(false), now: now) == [])
        // It changes during a registration that succeeds.
        let second = try #require(begun(registrar.handle(.alertsAllowed(true), now: now)))
        #expect(registrar.handle(.alertsAllowed(false), now: now) == [])
        #expect(begun(registrar.handle(.registered(device: device, second), now: now))?.alertsAllowed == false)

        // The next launch does not know the permission at first.
        var launched = PushRegistrar(record: record, appVersion: "1.0")
        _ = launched.handle(.signedIn(ada), now: now)
        #expect(launched.handle(.token(token), now: now) == [])
        #expect(launched.handle(.alertsAllowed(false), now: now) == [])
        #expect(begun(launched.handle(.alertsAllowed(true), now: now))?.alertsAllowed == true)
    }

    @Test("A record of an earlier version, which lacks the permission, is read")
    func earlierRecord() throws {
        let text = """
            {"fingerprint":1,"user":"\(ada)","appVersion":"1.0","device":"\(device)","registeredAt":"2026-11-20T12:00:00Z"}
            """
        let record = try ClientJSON.decode(PushRegistrar.Record.self, from: Data(text.utf8))
        #expect(record.alertsAllowed == nil && record.device == device)
    }

    @Test("A failed registration is retried with the next event, not at once")
    func failure() throws {
        var registrar = PushRegistrar(record: nil, appVersion: "1.0")
        _ = registrar.handle(.signedIn(ada), now: now)
        let attempt = try #require(begun(registrar.handle(.token(token), now: now)))
        #expect(registrar.handle(.failed(attempt), now: now) == [])
        #expect(begun(registrar.handle(.foreground, now: now)) != nil)
    }

    @Test("Signing out deletes the record, and registers nothing until the next sign-in")
    func signedOut() {
        var (registrar, _) = registered()
        #expect(registrar.handle(.signedOut, now: now) == [.keep(nil)])
        #expect(registrar.handle(.foreground, now: now) == [])
        #expect(registrar.handle(.signedOut, now: now) == [])
    }

    @Test("A registration that ends after the sign-out is not taken for the next user's")
    func late() throws {
        var registrar = PushRegistrar(record: nil, appVersion: "1.0")
        _ = registrar.handle(.token(token), now: now)
        let adas = try #require(begun(registrar.handle(.signedIn(ada), now: now)))
        #expect(registrar.handle(.signedOut, now: now) == [])
        #expect(registrar.handle(.registered(device: device, adas), now: now) == [])
        #expect(registrar.handle(.failed(adas), now: now) == [])
        let bob = UUID()
        #expect(begun(registrar.handle(.signedIn(bob), now: now))?.user == bob)
    }

    @Test("A token is told in hexadecimal, of whatever length, and what is kept does not hold it")
    func tokens() throws {
        #expect(EncodedPushToken(Data([0, 0x0f, 0xa0, 0xff])).hexadecimal.value == "000fa0ff")
        #expect(EncodedPushToken(Data()).hexadecimal.value.isEmpty)
        #expect(EncodedPushToken(Data(repeating: 7, count: 1024)).hexadecimal.value.utf8.count == 2048)
        #expect(EncodedPushToken(Data([1])).fingerprint != EncodedPushToken(Data([2])).fingerprint)
        let kept = String(decoding: try ClientJSON.encode(registered().1), as: UTF8.self)
        #expect(!kept.contains("010203") && !"\(token)".contains("010203"))
    }
}
