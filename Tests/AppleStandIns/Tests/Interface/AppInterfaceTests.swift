import AuthenticationServices
import Foundation
import GatehouseClient
import GatehouseContracts
import Observation
import SwiftUI
import Synchronization
import Testing

@testable import GatehouseUI

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The whole of an app with Gatehouse.
private struct Orders: App {
    static let gatehouse = GatehouseClient.live(baseURL: URL(string: "https://api.example.com")!)
    @State private var session = AppSession(gatehouse)

    var body: some Scene {
        WindowGroup { OrderView().gatehouse(session) }
    }
}

private struct Order: Codable, Sendable, Equatable {
    var id: Int
}

private struct OrderView: View {
    @Environment(AppSession.self) private var session
    @State private var order: Order?

    var body: some View {
        Text(verbatim: "\(order?.id ?? 0)")
            .task { order = try? await session.client.get("/v1/orders/7") }
    }
}

@MainActor
@Suite("An app's interface to the library", .serialized)
struct AppInterfaceTests {
    private let transport = FakeTransport()
    private let telemetry = EventLog()

    private func live() throws -> GatehouseClient {
        .live(baseURL: try #require(URL(string: "https://api.example.com"))) {
            $0.store = InMemoryTokenStore()
            $0.transport = transport
            $0.connectivity = AlwaysOnline()
            $0.telemetry = telemetry
        }
    }

    private func answerDialog(_ subject: String) {
        SimulatedAppleDialog.answer = { request in
            let token = Data("e30.e30.\(request.nonce ?? "")".utf8)
            return .success(
                ASAuthorization(simulated: ASAuthorizationAppleIDCredential(simulated: subject, identityToken: token)))
        }
    }

    @Test("The Keychain, and this device's model")
    func parts() {
        #expect(Orders.gatehouse.configuration.store is KeychainTokenStore)
        #expect(Orders.gatehouse.configuration.telemetry is OSLogTelemetry)
        #expect(Orders.gatehouse.configuration.connectivity is SystemConnectivity)
        #expect(Orders.gatehouse.configuration.device?.installationId?.isEmpty == false)
    }

    @Test("One call shows Apple's dialog and signs in with its nonce; then requests are JSON")
    func signsInWithApple() async throws {
        defer { SimulatedAppleDialog.answer = nil }
        let gatehouse = try live()
        answerDialog("ada")
        await transport.then(.json(Sample.auth("first")), .json(Order(id: 7)))
        #expect(try await gatehouse.signInWithApple() == Sample.user)
        let order: Order = try await gatehouse.get("/v1/orders/7")
        #expect(order == Order(id: 7))
        let body = try #require(await transport.requests.first?.httpBody)
        let sent = try JSONDecoder().decode(AppleSignInRequest.self, from: body)
        #expect(sent.nonce?.isEmpty == false && sent.identityToken == "e30.e30.\(sent.nonce ?? "")")
    }

    @Test("A dialog that the user closes, and an app without a window")
    func dialogFails() async throws {
        defer { SimulatedAppleDialog.answer = nil }
        let gatehouse = try live()
        SimulatedAppleDialog.answer = { _ in .failure(ASAuthorizationError(.canceled)) }
        let closed = await #expect(throws: GatehouseError.self) { try await gatehouse.signInWithApple() }
        #expect(closed?.kind == .cancelled && telemetry.events.isEmpty)
        SimulatedAppleDialog.answer = { _ in .failure(ASAuthorizationError(.failed)) }
        let failed = await #expect(throws: GatehouseError.self) { try await gatehouse.signInWithApple() }
        #expect(failed?.kind == .invalidAppleToken)
        let code = ASAuthorizationError.Code.failed.rawValue
        #expect(telemetry.events == [TelemetryEvent(.loginFailure, reason: "ASAuthorizationError \(code)")])
        try await withScenes([]) {
            let error = await #expect(throws: GatehouseError.self) { try await gatehouse.signInWithApple() }
            #expect(error?.kind == .misuse)
        }
        #expect(await transport.requests.isEmpty)
    }

    @Test("Of all scenes, the dialog is in the one in the foreground, and in the app's own choice of window")
    func dialogScene() async throws {
        defer { SimulatedAppleDialog.answer = nil }
        let gatehouse = try live()
        SimulatedAppleDialog.answer = { _ in .failure(ASAuthorizationError(.canceled)) }
        let background = backgroundScenes(16)
        for scene in [foregroundScene(isActive: true), foregroundScene(isActive: false)] {
            try await withScenes(background + [scene]) {
                await #expect(throws: GatehouseError.self) { try await gatehouse.signInWithApple() }
                #expect(SimulatedAppleDialog.anchor === keyWindow(of: scene))
            }
        }
        try await withScenes(background) {
            let error = await #expect(throws: GatehouseError.self) { try await gatehouse.signInWithApple() }
            #expect(error?.kind == .misuse)
        }
        let own = try #require(keyWindow(of: background[0]))
        await #expect(throws: GatehouseError.self) { try await gatehouse.signInWithApple(in: own) }
        #expect(SimulatedAppleDialog.anchor === own)
    }

    @Test("Of several active scenes, the dialog is in the one that the user works in, and otherwise always in the same")
    func dialogInFront() async throws {
        defer { SimulatedAppleDialog.answer = nil }
        let gatehouse = try live()
        SimulatedAppleDialog.answer = { _ in .failure(ASAuthorizationError(.canceled)) }
        let scenes = (0..<8).map { _ in foregroundScene(isActive: true) }
        try await withScenes(scenes) {
            for scene in scenes {
                bringToFront(scene, of: scenes)
                await #expect(throws: GatehouseError.self) { try await gatehouse.signInWithApple() }
                #expect(SimulatedAppleDialog.anchor === keyWindow(of: scene))
            }
            bringToFront(nil, of: scenes)
            await #expect(throws: GatehouseError.self) { try await gatehouse.signInWithApple() }
            let first = try #require(scenes.min { identifier(of: $0) < identifier(of: $1) })
            #expect(SimulatedAppleDialog.anchor === keyWindow(of: first))
        }
    }

    @Test("A user who declines, and a task that is cancelled, leave the account as it is")
    func declines() async throws {
        let gatehouse = try live()
        let session = AppSession(gatehouse)
        session.prompt.appeared(UUID(), for: gatehouse)
        await transport.then(
            .json(Sample.auth("first")), .problem(.reauthenticationRequired), .problem(.reauthenticationRequired))
        try await gatehouse.signIn(identifier: "ada@example.com", password: "correct horse")
        let close: (Task<Void, any Error>) -> Void = { _ in session.prompt.request.map(session.prompt.closed) }
        for decline in [close, { $0.cancel() }] {
            let deletion = Task { try await gatehouse.deleteAccount() }
            try await eventually("the sheet is shown") { session.prompt.request != nil }
            decline(deletion)
            await #expect { try await deletion.value } throws: { ($0 as? GatehouseError)?.kind == .cancelled }
            #expect(session.prompt.request == nil)
        }
        #expect(await gatehouse.session.state.user == Sample.user)
    }

    @Test("Without a gate on the screen the call fails, and an app's own handler stays")
    func ownHandler() async throws {
        let gatehouse = try live()
        let session = AppSession(gatehouse)
        await transport.then(
            .json(Sample.auth("first")), .problem(.reauthenticationRequired), .problem(.reauthenticationRequired))
        try await gatehouse.signIn(identifier: "ada@example.com", password: "correct horse")
        let first = await #expect(throws: GatehouseError.self) { try await gatehouse.deleteAccount() }
        #expect(first?.kind == .reauthenticationRequired)
        gatehouse.setReauthenticationHandler { _ in throw CancellationError() }
        session.prompt.appeared(UUID(), for: gatehouse)
        let second = await #expect(throws: GatehouseError.self) { try await gatehouse.deleteAccount() }
        #expect(second?.kind == .cancelled && session.prompt.request == nil)
    }

    @Test("Views observe the session")
    func observes() async throws {
        let gatehouse = try live()
        let session = AppSession(gatehouse)
        let changes = Mutex(0)
        withObservationTracking {
            _ = session.state
        } onChange: {
            changes.withLock { $0 += 1 }
        }
        await session.start()
        try await eventually("signed out") { session.state == .signedOut(reason: nil) }
        #expect(changes.withLock { $0 } == 1)
    }
}
