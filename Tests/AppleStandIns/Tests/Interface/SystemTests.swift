import AuthenticationServices
import Foundation
import GatehouseContracts
import LocalAuthentication
import Network
import OSLog
import Testing
import UserNotifications

@testable import GatehouseClient
@testable import GatehouseUI

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@MainActor
@Suite("The library's use of system services", .serialized)
struct SystemTests {
    @Test(
        "Apple's answers, and errors",
        arguments: [
            (.authorized, .authorized), (.revoked, .revoked), (.notFound, .notFound), (.transferred, .transferred),
            (nil, nil),
        ] as [(ASAuthorizationAppleIDProvider.CredentialState?, AppleCredentialState?)])
    func credentialStates(
        simulated: ASAuthorizationAppleIDProvider.CredentialState?, expected: AppleCredentialState?
    ) async {
        let user = UUID().uuidString
        SimulatedAppleAccount.set(simulated, of: user)
        #expect((try? await SystemAppleCredentials().state(of: user)) == expected)
    }

    @Test("The system's notification is followed until the listener ends")
    func revocation() async throws {
        let (heard, continuation) = AsyncStream.makeStream(of: Void.self)
        let task = Task { await SystemAppleCredentials().onRevocation { continuation.yield() } }
        let posting = Task {
            while !Task.isCancelled {
                NotificationCenter.default.post(
                    name: ASAuthorizationAppleIDProvider.credentialRevokedNotification, object: nil)
                await Task.yield()
            }
        }
        for await _ in heard { break }
        posting.cancel()
        task.cancel()
        await task.value
    }

    @Test("An app that was signed in with Apple is signed out when the server confirms a revocation")
    func monitor() async throws {
        let user = UUID().uuidString
        let token = ["{}", "{\"sub\":\"\(user)\"}", "s"].map {
            Data($0.utf8).base64EncodedString().replacingOccurrences(of: "=", with: "")
        }.joined(separator: ".")
        var response = Sample.auth("first")
        response.user.authProviders = [.apple]
        let client = try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: "https://api.example.com")), store: InMemoryTokenStore(),
                transport: FakeTransport(
                    .json(response), .problem(.tokenExpired), .problem(.invalidRefreshToken)), clock: ManualClock()))
        try await client.signIn(with: AppleCredential(identityToken: token))
        SimulatedAppleAccount.set(.revoked, of: user)
        await client.session.add(AppleCredentialMonitor(session: client.session))
        try await eventually("signed out") { await client.session.state == .signedOut(reason: .appleCredentialRevoked) }
    }

    @Test("An app may switch the monitor of the consent to Sign in with Apple off", arguments: [true, false])
    func monitorOption(isOn: Bool) async throws {
        let gatehouse = GatehouseClient.live(baseURL: try #require(URL(string: "https://api.example.com"))) {
            $0.store = InMemoryTokenStore()
            $0.monitorsAppleCredential = isOn
        }
        // `live` adds the monitor in a task of its own.
        if isOn { try await eventually("added") { await !gatehouse.session.companions.entries.isEmpty } }
        for _ in 0..<100 { await Task.yield() }
        #expect(await gatehouse.session.companions.entries.count == (isOn ? 1 : 0))
    }

    @Test("Events are logged in the category auth")
    func log() throws {
        let subsystem = "test.\(UUID().uuidString)"
        let telemetry = OSLogTelemetry(subsystem: subsystem)
        telemetry.record(TelemetryEvent(.loginFailure, reason: "invalidCredentials", latency: .milliseconds(12)))
        telemetry.record(TelemetryEvent(.loginSuccess, reason: "apple"))
        telemetry.record(TelemetryEvent(.replay))
        let entries = SimulatedLog.entries(of: subsystem)
        #expect(entries.map(\.category) == ["auth", "auth", "auth"])
        #expect(entries.map(\.level) == [.error, .default, .info])
        #expect(
            entries.map(\.text) == [
                "auth.login.failure reason=invalidCredentials ms=12.0", "auth.login.success reason=apple ms=-",
                "auth.request.replay reason=- ms=-",
            ])
    }

    @Test("The network goes and comes back")
    func network() async throws {
        defer { SimulatedNetwork.change(to: .satisfied) }
        let connectivity = SystemConnectivity()
        var changes = connectivity.changes.makeAsyncIterator()
        #expect(await changes.next() == true)
        SimulatedNetwork.change(to: .unsatisfied)
        #expect(await changes.next() == false)
        try await eventually("offline") { !connectivity.isOnline }
        // A server on this machine can be reached without a network.
        for (address, isReachable) in [
            ("https://api.example.com", false), ("http://127.0.0.1:8080/v1", true), ("http://LOCALHOST", true),
            ("http://[::1]:8080", true), ("https://localhost.example.com", false),
        ] {
            #expect(connectivity.isOnline(for: try #require(URL(string: address))) == isReachable, "\(address)")
        }
        SimulatedNetwork.change(to: .requiresConnection)
        #expect(await changes.next() == true)
        try await eventually("online") { connectivity.isOnline }
    }

    @Test("Push: the token is requested once per launch, and registered")
    func push() async throws {
        let signedIn = try await SignedIn()
        let device = GatehouseClient.Device(
            id: UUID(), environment: .production, bundleId: "b", kind: .alert, status: .active, createdAt: Date(),
            updatedAt: Date())
        await signedIn.transport.then(.problem(.invalidRequest), .json(device))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("push-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        let helper = PushHelper(
            PushRegistration(client: signedIn.client, environment: .production, bundleID: "b", file: file))
        let before = deviceTokenRequests
        await helper.start(with: signedIn.client.session)
        await helper.start(with: signedIn.client.session)
        #expect(deviceTokenRequests == before + 1)
        helper.received(deviceToken: Data([1, 2]))
        // The first attempt fails. Only the system's notification makes the helper retry.
        try await eventually("registered") {
            NotificationCenter.default.becomeActive()
            return FileManager.default.fileExists(atPath: file.path)
        }
        #expect(await signedIn.requests.allSatisfy { $0.line == "POST /v1/devices/register" })
        #expect(deviceTokenRequests == before + 1)
    }

    @Test("Push: the user's permission is registered at launch, and again after a change in Settings")
    func pushPermission() async throws {
        let signedIn = try await SignedIn()
        let device = GatehouseClient.Device(
            id: UUID(), environment: .production, bundleId: "b", kind: .alert, status: .active, createdAt: Date(),
            updatedAt: Date())
        await signedIn.transport.then(.json(device), .json(device), .json(device))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("push-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        let center = NotificationCenter()
        let helper = PushHelper(
            PushRegistration(client: signedIn.client, environment: .production, bundleID: "b", file: file),
            center: center
        ) {}
        func sent() async throws -> [Bool?] {
            try await signedIn.requests.map {
                try ClientJSON.decode(Registration.self, from: try #require($0.httpBody)).alertsAllowed
            }
        }
        defer { SimulatedPermission.set(.notDetermined) }
        SimulatedPermission.set(.notDetermined)
        await helper.start(with: signedIn.client.session)
        helper.received(deviceToken: Data([1, 2]))
        try await eventually("registered") { try await sent() == [false] }
        SimulatedPermission.set(.authorized)
        #expect(try await helper.requestPermission())
        try await eventually("registered after the dialog") { try await sent() == [false, true] }
        SimulatedPermission.set(.denied)
        try await eventually("registered after a change in Settings") {
            center.becomeActive()
            return try await sent() == [false, true, false]
        }
        SimulatedPermission.set(.provisional)
        await signedIn.transport.then(.json(device))
        try await eventually("provisional notifications are shown") {
            center.becomeActive()
            return try await sent() == [false, true, false, true]
        }
    }

    @Test("Push: the error of a system without a token is recorded, and the next return requests a token again")
    func pushFails() async throws {
        let signedIn = try await SignedIn()
        let center = NotificationCenter()
        var requests = 0
        let helper = PushHelper(PushRegistration(client: signedIn.client, environment: .sandbox), center: center) {
            requests += 1
        }
        await helper.start(with: signedIn.client.session)
        helper.failed(NSError(domain: NSCocoaErrorDomain, code: 3010))
        let event = signedIn.telemetry.events.last
        #expect(event?.name == .pushTokenFailure && event?.reason == "NSCocoaErrorDomain 3010")
        #expect(requests == 1)
        center.becomeActive()
        #expect(requests == 2)
        helper.received(deviceToken: Data([1]))
        center.becomeActive()
        #expect(requests == 2)
    }

    @Test("A deallocated helper ignores notifications")
    func pushEnds() async throws {
        let signedIn = try await SignedIn()
        let center = NotificationCenter()
        var requests = 0
        var helper: PushHelper? = PushHelper(
            PushRegistration(client: signedIn.client, environment: .sandbox), center: center
        ) { requests += 1 }
        await helper?.start(with: signedIn.client.session)
        helper?.failed(URLError(.unknown))
        weak let watched = helper
        helper = nil
        #expect(watched == nil)
        center.becomeActive()
        #expect(requests == 1)
    }

    @Test(
        "Why the system shows no biometrics dialog",
        arguments: [
            (nil, nil), (.biometryLockout, .lockedOut), (.biometryNotAvailable, .unavailable),
            (.biometryNotEnrolled, .unavailable), (.passcodeNotSet, .unavailable),
        ] as [(LAError.Code?, UnlockObstacle?)])
    func obstacles(code: LAError.Code?, expected: UnlockObstacle?) {
        defer { SimulatedBiometry.fail(with: nil) }
        SimulatedBiometry.fail(with: code)
        #expect(UnlockPolicy.biometrics.obstacle == expected)
        #expect(UnlockPolicy.notRequired.obstacle == nil)
    }

    @Test("The user allows notifications, or does not")
    func permission() async throws {
        let signedIn = try await SignedIn()
        let helper = PushHelper(PushRegistration(client: signedIn.client, environment: .sandbox)) {}
        defer { SimulatedPermission.answer(.success(true)) }
        #expect(try await helper.requestPermission())
        SimulatedPermission.answer(.success(false))
        #expect(try await helper.requestPermission() == false)
        SimulatedPermission.answer(.failure(URLError(.unknown)))
        await #expect(throws: URLError.self) { try await helper.requestPermission() }
    }
}
