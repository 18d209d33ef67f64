public import Contracts
public import Foundation

/// When a device is registered for push notifications: once a launch, unless that was done within a day, and whenever
/// the token, the user or the app's version is another. One registration at a time.
public struct PushRegistrar: Sendable, Equatable {
    /// What is kept between two launches. It does not hold the token.
    public struct Record: Codable, Sendable, Equatable {
        var fingerprint: UInt64
        var user: UUID
        var appVersion: String
        /// The server's name for the registration.
        public var device: UUID
        var registeredAt: Date
    }

    public enum Event: Sendable, Equatable {
        case token(PushToken)
        case signedIn(UUID)
        /// - `isAnswered`: whether requests in the user's name still are.
        case signsOut(isAnswered: Bool)
        case registered(device: UUID, Attempt)
        case failed(Attempt)
        /// The app comes to the foreground: time to try what has failed.
        case foreground
    }

    public enum Action: Sendable, Equatable {
        case register(Attempt)
        case unregister(device: UUID)
        /// `nil`: keep nothing.
        case keep(Record?)
    }

    /// A registration under way: of which token, for whom.
    public struct Attempt: Sendable, Equatable {
        public let token: PushToken
        let user: UUID
        let appVersion: String
    }

    private var record: Record?
    private var token: PushToken?
    private var user: UUID?
    private var underway: Attempt?
    private let appVersion: String

    /// A registration older than this is repeated at the next occasion. The server takes a device for lost after weeks.
    public static let renewal: TimeInterval = 24 * 60 * 60

    public init(record: Record?, appVersion: String) {
        self.record = record
        self.appVersion = appVersion
    }

    /// - Parameters:
    ///   - event: what has happened.
    ///   - now: by the device's clock; where it is wrong a registration is repeated too often or a day late.
    public mutating func handle(_ event: Event, now: Date) -> [Action] {
        switch event {
        case .token(let token): self.token = token
        case .signedIn(let user): self.user = user
        case .foreground: break
        case .signsOut(let isAnswered): return signsOut(isAnswered: isAnswered)
        case .failed(let attempt):
            if underway == attempt { underway = nil }
            // Not at once again: with the next event, unless something has changed meanwhile.
            guard let token, token != attempt.token || user != attempt.user else { return [] }
        case .registered(let device, let attempt):
            guard underway == attempt else { return [] }
            underway = nil
            record = Record(
                fingerprint: attempt.token.fingerprint, user: attempt.user, appVersion: attempt.appVersion,
                device: device, registeredAt: now)
            return [.keep(record)] + registration(now: now)
        }
        return registration(now: now)
    }

    private mutating func registration(now: Date) -> [Action] {
        guard underway == nil, let token, let user, !isRegistered(token, user, now) else { return [] }
        let attempt = Attempt(token: token, user: user, appVersion: appVersion)
        underway = attempt
        return [.register(attempt)]
    }

    private func isRegistered(_ token: PushToken, _ user: UUID, _ now: Date) -> Bool {
        guard let record else { return false }
        return record.fingerprint == token.fingerprint && record.user == user && record.appVersion == appVersion
            && abs(now.timeIntervalSince(record.registeredAt)) < Self.renewal
    }

    /// Where requests are answered no more the server has detached the device with the session.
    private mutating func signsOut(isAnswered: Bool) -> [Action] {
        (user, underway) = (nil, nil)
        guard let device = record?.device else { return [] }
        record = nil
        return isAnswered ? [.keep(nil), .unregister(device: device)] : [.keep(nil)]
    }
}

/// Registers this device for push notifications while a user is signed in: a companion of the session, which performs
/// the actions that ``PushRegistrar`` returns.
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
            // A sign-in does not wait for the registration.
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

/// A device token of Apple's push service, as the server takes it: hexadecimal digits, of no fixed length.
///
/// A party that knows the token can claim the device, so the token is neither printed nor stored.
public struct PushToken: Sendable, Equatable {
    public let hexadecimal: Redacted<String>

    /// - Parameter deviceToken: what `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)` is given.
    public init(_ deviceToken: Data) {
        let digits = Array("0123456789abcdef")
        hexadecimal = Redacted(String(deviceToken.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }))
    }

    /// Tells one token from another, and nothing of either (FNV-1a).
    var fingerprint: UInt64 {
        hexadecimal.value.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
