import Contracts
import Foundation
import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An app with a public client library in place of this package's.
actor PublicSDKApp: SimulatedApp {
    private struct Tokens: Codable, Sendable {
        var access: String
        var refresh: String
        var expiresAt: Date
    }

    private enum Failure: Error {
        case noSession
        case transient
    }

    private let sdk: PublicSDK
    private let device: SimulatedDevice
    private let process: SimulatedProcess
    private let store: SimulatedStore
    private var held: Tokens?
    private var isSignedIn = false
    private var running: Task<Tokens, any Error>?

    init(_ sdk: PublicSDK, _ device: SimulatedDevice, _ process: SimulatedProcess) {
        self.sdk = sdk
        self.device = device
        self.process = process
        store = SimulatedStore(storage: device.storage, process: process)
    }

    var sight: Sight { isSignedIn ? .signedIn : .signedOut }

    var isStored: Bool { device.storage.data != nil }

    func launch() {
        do {
            held = try read()
        } catch {
            held = nil
            // A Keychain lets go of an item that it cannot read.
            if sdk.unreadableStore == .isCorrupt { device.storage.data = nil }
        }
        isSignedIn = held != nil
    }

    func signIn() async {
        let login = LoginRequest(identifier: "ada@example.com", password: "correct horse")
        guard let (body, response) = try? await post("/v1/auth/login", login), response.statusCode == 200,
            let tokens = try? tokens(in: body), keep(tokens)
        else { return }
        isSignedIn = true
    }

    func signOut() async {
        let token = current?.refresh
        forget()
        _ = try? await post("/v1/auth/logout", LogoutRequest(refreshToken: token))
    }

    func request() async -> RequestOutcome {
        do {
            var request = URLRequest(url: SimulatedDevice.origin.appendingPathComponent("/v1/orders"))
            request.setValue("Bearer \(try await token().access)", forHTTPHeaderField: "Authorization")
            let (_, response) = try await device.network.exchange(request, from: process)
            return response.statusCode == 200 ? .served : response.statusCode == 401 ? .refused : .failed
        } catch {
            return .failed
        }
    }

    func settle() async { _ = await running?.result }

    // MARK: - Tokens

    private func token() async throws -> Tokens {
        let task: Task<Tokens, any Error>
        if sdk.sharesFailures, let running {
            task = running
        } else {
            let previous = running
            task = Task {
                _ = await previous?.result
                return try await freshTokens()
            }
            running = task
        }
        let result = await task.result
        if running == task { running = nil }
        return try result.get()
    }

    private func freshTokens() async throws -> Tokens {
        guard let tokens = current else {
            if process.isAlive { isSignedIn = false }
            throw Failure.noSession
        }
        if tokens.expiresAt.timeIntervalSince(device.clock.wall) > sdk.margin { return tokens }
        for attempt in 1...sdk.attempts {
            let answer = try? await post("/v1/auth/refresh", RefreshRequest(refreshToken: tokens.refresh))
            if let (body, response) = answer {
                let status = response.statusCode
                if status == 200 {
                    let renewed = try self.tokens(in: body)
                    guard keep(renewed) else { throw Failure.transient }
                    return renewed
                }
                if sdk.ends(status) {
                    forget()
                    throw Failure.noSession
                }
                guard sdk.retried.contains(status) else { throw Failure.transient }
            }
            if attempt < sdk.attempts { try await device.clock.sleep(for: .milliseconds(500 << (attempt - 1))) }
        }
        throw Failure.transient
    }

    private func tokens(in body: Data) throws -> Tokens {
        let answer = try JSON.decode(AuthResponse.self, from: body)
        let expiresAt =
            switch sdk.expiry {
            case .atServerTime: answer.expiresAt
            case .afterLifetime: device.clock.wall.addingTimeInterval(Double(answer.expiresIn))
            }
        return Tokens(access: answer.accessToken, refresh: answer.refreshToken, expiresAt: expiresAt)
    }

    private var current: Tokens? { sdk.keepsInMemory ? held : (try? read()) ?? nil }

    private func read() throws -> Tokens? {
        try store.load().map { try JSONDecoder().decode(Tokens.self, from: $0) }
    }

    /// - Returns: whether the library goes on as if the tokens were kept.
    private func keep(_ tokens: Tokens) -> Bool {
        let isSaved = (try? store.save(JSONEncoder().encode(tokens))) != nil
        guard process.isAlive, isSaved || !sdk.mindsSaves else { return false }
        held = tokens
        return true
    }

    private func forget() {
        guard process.isAlive else { return }
        isSignedIn = false
        held = nil
        try? store.delete()
    }

    private func post(
        _ path: String, _ json: some Encodable & Sendable
    ) async throws -> (Data, HTTPURLResponse) {
        var request = URLRequest(url: SimulatedDevice.origin.appendingPathComponent(path))
        request.httpMethod = "POST"
        request.httpBody = try JSON.encode(json)
        return try await device.network.exchange(request, from: process)
    }
}
