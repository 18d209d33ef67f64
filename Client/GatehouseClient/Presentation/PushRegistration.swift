public import Contracts
public import Foundation

/// Registers this device for push notifications as long as somebody is signed in, and no longer: the companion of a
/// session that ``PushRegistrar`` tells what to do.
///
/// ```swift
/// let push = PushRegistration(client: client, environment: environment)
/// await client.session.add(push)
/// await push.received(deviceToken: token)
/// ```
public actor PushRegistration: SessionCompanion {
    private let client: GatehouseClient
    private let environment: PushEnvironment
    private let bundleID: String
    private let appVersion: String
    private let file: URL
    private var registrar: PushRegistrar

    /// - Parameters:
    ///   - client: whose user's device is registered.
    ///   - environment: where Apple gave the token: `sandbox` for what Xcode installs, `production` for TestFlight and the
    ///     App Store, as the entitlement `aps-environment` says: `PushEnvironment(entitlement:)`, and never a constant.
    ///   - bundleID: by default the app's.
    ///   - appVersion: by default the app's `CFBundleShortVersionString`.
    ///   - file: where the last registration is noted, without the token; by default in the folder for application
    ///     support.
    public init(
        client: GatehouseClient, environment: PushEnvironment, bundleID: String? = nil, appVersion: String? = nil,
        file: URL? = nil
    ) {
        self.client = client
        self.environment = environment
        self.bundleID = bundleID ?? Bundle.main.bundleIdentifier ?? ""
        let version = Bundle.main.object(forInfoDictionaryKey: "CFBundleShortVersionString") as? String
        self.appVersion = appVersion ?? version ?? ""
        let folder = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        let place =
            file ?? (folder ?? FileManager.default.temporaryDirectory).appendingPathComponent("gatehouse.push.json")
        self.file = place
        registrar = PushRegistrar(record: Self.read(place), appVersion: self.appVersion)
    }

    /// Apple has given the app a token: at each launch that asks for one, and now and then a new one.
    public func received(deviceToken: Data) async { await handle(.token(PushToken(deviceToken))) }

    /// The app comes to the foreground: what has failed is tried again.
    public func cameToForeground() async { await handle(.foreground) }

    public func sessionBegan(_ user: User) async { await handle(.signedIn(user.id)) }

    public func sessionWillEnd(_ reason: SignOutReason) async {
        await handle(.signsOut(isAnswered: reason == .user || reason == .appleCredentialRevoked))
    }

    private func handle(_ event: PushRegistrar.Event) async {
        for action in registrar.handle(event, now: client.configuration.clock.wall) {
            switch action {
            case .keep(let record): write(record)
            // The server detaches the device with the session, should this fail.
            case .unregister(let device): try? await client.unregister(device)
            // Beside the session: nobody who signs in waits for it.
            case .register(let attempt): Task { await register(attempt) }
            }
        }
    }

    private func register(_ attempt: PushRegistrar.Attempt) async {
        let registration = Registration(
            token: attempt.token.hexadecimal.value, environment: environment, bundleId: bundleID,
            installationId: client.configuration.device?.installationId, locale: Locale.current.identifier,
            timeZone: TimeZone.current.identifier, appVersion: attempt.appVersion,
            osVersion: client.configuration.device?.osVersion, model: client.configuration.device?.model)
        do {
            let device = try await client.registerDevice(registration)
            await handle(.registered(device: device.id, attempt))
        } catch {
            await handle(.failed(attempt))
        }
    }

    // What cannot be read or written costs one registration more.

    private static func read(_ file: URL) -> PushRegistrar.Record? {
        (try? Data(contentsOf: file)).flatMap { try? JSON.decode(PushRegistrar.Record.self, from: $0) }
    }

    private func write(_ record: PushRegistrar.Record?) {
        guard let data = try? record.map(JSON.encode) else {
            try? FileManager.default.removeItem(at: file)
            return
        }
        try? FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try? data.write(to: file, options: .atomic)
    }
}
