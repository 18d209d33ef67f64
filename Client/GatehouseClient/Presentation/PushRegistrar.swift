public import GatehouseContracts
public import Foundation

/// Decides when to register a device for push notifications: once per launch, unless a registration is less than a day
/// old, and whenever the token, the user, the app's version or the permission to show notifications changes. At most
/// one registration runs at a time.
struct PushRegistrar: Sendable, Equatable {
    /// The registration that is kept between launches. It does not contain the token.
    struct Record: Codable, Sendable, Equatable {
        var fingerprint: UInt64
        var user: UUID
        var appVersion: String
        /// The server's id of the registration.
        var device: UUID
        var registeredAt: Date
        /// Records of earlier versions lack it.
        var alertsAllowed: Bool?
    }

    enum Event: Sendable, Equatable {
        case token(EncodedPushToken)
        case signedIn(UUID)
        /// Whether the user lets the app show notifications.
        case alertsAllowed(Bool)
        /// The server detaches the device with the session.
        case signedOut
        case registered(device: UUID, Attempt)
        case failed(Attempt)
        /// The app comes to the foreground: failed registrations are retried.
        case foreground
    }

    enum Action: Sendable, Equatable {
        case register(Attempt)
        /// `nil` deletes the record.
        case keep(Record?)
    }

    /// A registration in progress, with its token and user.
    struct Attempt: Sendable, Equatable {
        let token: EncodedPushToken
        let user: UUID
        let appVersion: String
        let alertsAllowed: Bool?
    }

    private var record: Record?
    /// The server's id of the registration.
    var registeredDevice: UUID? { record?.device }
    private var token: EncodedPushToken?
    private var user: UUID?
    /// Until the app has read the permission: as in the record.
    private var alertsAllowed: Bool?
    private var inProgress: Attempt?
    private let appVersion: String

    /// An older registration is repeated at the next event. The server considers a device lost after weeks.
    static let renewal: TimeInterval = 24 * 60 * 60

    init(record: Record?, appVersion: String) {
        self.record = record
        self.appVersion = appVersion
        alertsAllowed = record?.alertsAllowed
    }

    /// - Parameters:
    ///   - event: the event to handle.
    ///   - now: the device's time. If its clock is wrong, a registration repeats too often or a day late.
    mutating func handle(_ event: Event, now: Date) -> [Action] {
        switch event {
        case .token(let token): self.token = token
        case .signedIn(let user): self.user = user
        case .alertsAllowed(let isAllowed): alertsAllowed = isAllowed
        case .foreground: break
        case .signedOut:
            (user, inProgress) = (nil, nil)
            guard record != nil else { return [] }
            record = nil
            return [.keep(nil)]
        case .failed(let attempt):
            if inProgress == attempt { inProgress = nil }
            // Retry at once only if something has changed meanwhile. Otherwise the next event retries.
            guard let token, token != attempt.token || user != attempt.user || alertsAllowed != attempt.alertsAllowed
            else { return [] }
        case .registered(let device, let attempt):
            guard inProgress == attempt else { return [] }
            inProgress = nil
            record = Record(
                fingerprint: attempt.token.fingerprint, user: attempt.user, appVersion: attempt.appVersion,
                device: device, registeredAt: now, alertsAllowed: attempt.alertsAllowed)
            return [.keep(record)] + registration(now: now)
        }
        return registration(now: now)
    }

    private mutating func registration(now: Date) -> [Action] {
        guard inProgress == nil, let token, let user, !isRegistered(token, user, now) else { return [] }
        let attempt = Attempt(token: token, user: user, appVersion: appVersion, alertsAllowed: alertsAllowed)
        inProgress = attempt
        return [.register(attempt)]
    }

    private func isRegistered(_ token: EncodedPushToken, _ user: UUID, _ now: Date) -> Bool {
        guard let record else { return false }
        return record.fingerprint == token.fingerprint && record.user == user && record.appVersion == appVersion
            && record.alertsAllowed == alertsAllowed && abs(now.timeIntervalSince(record.registeredAt)) < Self.renewal
    }
}

/// Registers this device for push notifications while a user is signed in. This companion of the session performs the
/// actions that `PushRegistrar` returns.
///
/// ```swift
/// let push = PushRegistration(client: client, environment: environment)
/// await client.session.add(push)
/// await push.received(deviceToken: token)
/// ```
///
/// Live Activities have tokens of their own, which ActivityKit delivers again at each launch:
///
/// ```swift
/// for await token in activity.pushTokenUpdates {
///     await push.received(token: token, forActivity: activity.id, attributesType: "DeliveryAttributes")
/// }
/// for await token in Activity<DeliveryAttributes>.pushToStartTokenUpdates {
///     await push.received(token: token, toStart: "DeliveryAttributes")
/// }
/// ```
///
/// A Live Activity that subscribes to a broadcast channel has no token, and needs no registration: the app's server
/// creates the channel, and gives the app its `channelId` for
/// `Activity.request(attributes:content:pushType: .channel(channelId))`.
public actor PushRegistration: SessionCompanion {
    /// Weak, because the client's session retains its companions.
    private weak var client: GatehouseClient?
    private let configuration: GatehouseConfiguration
    private let environment: PushEnvironment
    private let bundleID: String
    private let appVersion: String
    private let file: URL
    /// Reads the record with the first event, not while the app launches.
    private lazy var registrars = [Use.notifications: PushRegistrar(record: Self.read(file), appVersion: appVersion)]
    private var user: UUID?
    private var alertsAllowed: Bool?

    /// The use of a token. Each has a registrar of its own.
    private enum Use: Hashable, Sendable {
        case notifications
        case activity(String, attributesType: String)
        case start(attributesType: String)
    }

    /// - Parameters:
    ///   - client: the client whose user owns the device.
    ///   - environment: the environment of the device token: `sandbox` for builds that Xcode installs, `production` for
    ///     TestFlight and the App Store. Derive it from the entitlement `aps-environment` with
    ///     `PushEnvironment(entitlement:)`; do not use a constant.
    ///   - bundleID: by default the app's.
    ///   - appVersion: by default the app's `CFBundleShortVersionString`.
    ///   - file: the file for the last registration, without the token; by default in the Application Support folder.
    public init(
        client: GatehouseClient, environment: PushEnvironment, bundleID: String? = nil, appVersion: String? = nil,
        file: URL? = nil
    ) {
        self.client = client
        configuration = client.configuration
        self.environment = environment
        self.bundleID = bundleID ?? Bundle.main.bundleIdentifier ?? ""
        let version = Bundle.main.object(forInfoDictionaryKey: "CFBundleShortVersionString") as? String
        self.appVersion = appVersion ?? version ?? ""
        let folder = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        self.file =
            file ?? (folder ?? FileManager.default.temporaryDirectory).appendingPathComponent("gatehouse.push.json")
    }

    /// Passes on a token from Apple. Apple returns one after each request at launch, and sometimes a new one.
    public func received(deviceToken: Data) { handle(.token(EncodedPushToken(deviceToken)), for: .notifications) }

    /// Passes on whether the user lets the app show notifications. The registration carries it, so that the team can
    /// address the devices that show notifications. `PushHelper` calls it at launch, when the app comes to the
    /// foreground, and after its dialog.
    public func received(alertsAllowed: Bool) {
        self.alertsAllowed = alertsAllowed
        handle(.alertsAllowed(alertsAllowed))
    }

    /// Passes on the token of a Live Activity.
    ///
    /// - Parameters:
    ///   - token: an element of the activity's `pushTokenUpdates`.
    ///   - activity: the activity's `id`, or a name of the app's own under which the server addresses the activity.
    ///     Up to 128 visible ASCII characters.
    ///   - attributesType: the name of the type of the activity's attributes.
    public func received(token: Data, forActivity activity: String, attributesType: String) {
        handle(.token(EncodedPushToken(token)), for: .activity(activity, attributesType: attributesType))
    }

    /// Passes on the token by which the server starts Live Activities.
    ///
    /// - Parameters:
    ///   - token: an element of the activity type's `pushToStartTokenUpdates`.
    ///   - attributesType: the name of the type of the activities' attributes.
    public func received(token: Data, toStart attributesType: String) {
        handle(.token(EncodedPushToken(token)), for: .start(attributesType: attributesType))
    }

    /// Unregisters the token of a Live Activity that has ended. Without this call the server learns of the end from
    /// Apple, with the next push to the activity.
    public func ended(activity: String) async {
        let ended = registrars.keys.filter { if case .activity(activity, _) = $0 { true } else { false } }
        for use in ended {
            guard let device = registrars.removeValue(forKey: use)?.registeredDevice else { continue }
            try? await client?.unregister(device)
        }
    }

    /// Records that Apple has returned no token.
    public nonisolated func failed(_ error: any Error) {
        let error = error as NSError
        configuration.telemetry.record(TelemetryEvent(.pushTokenFailure, reason: "\(error.domain) \(error.code)"))
    }

    /// Retries failed registrations. Call it when the app comes to the foreground.
    public func cameToForeground() { handle(.foreground) }

    public func sessionBegan(_ user: User) {
        self.user = user.id
        handle(.signedIn(user.id))
    }

    public func sessionEnded(_ reason: SignOutReason) {
        user = nil
        handle(.signedOut)
    }

    private func handle(_ event: PushRegistrar.Event) {
        for use in registrars.keys { handle(event, for: use) }
    }

    private func handle(_ event: PushRegistrar.Event, for use: Use) {
        if registrars[use] == nil {
            var registrar = PushRegistrar(record: nil, appVersion: appVersion)
            if let user { _ = registrar.handle(.signedIn(user), now: configuration.clock.wall) }
            if let alertsAllowed {
                _ = registrar.handle(.alertsAllowed(alertsAllowed), now: configuration.clock.wall)
            }
            registrars[use] = registrar
        }
        for action in registrars[use]?.handle(event, now: configuration.clock.wall) ?? [] {
            switch action {
            // ActivityKit delivers its tokens at each launch, so only the record of notifications outlives the process.
            case .keep(let record): if use == .notifications { write(record) }
            // Run in a task, so that the sign-in does not wait.
            case .register(let attempt): Task { await register(attempt, for: use) }
            }
        }
    }

    private func register(_ attempt: PushRegistrar.Attempt, for use: Use) async {
        guard let client else { return }
        var registration = Registration(
            token: attempt.token.hexadecimal.value, environment: environment, bundleId: bundleID,
            installationId: configuration.device?.installationId, locale: Locale.current.identifier,
            timeZone: TimeZone.current.identifier, appVersion: attempt.appVersion,
            osVersion: configuration.device?.osVersion, model: configuration.device?.model,
            alertsAllowed: attempt.alertsAllowed)
        switch use {
        case .notifications: break
        case .activity(let activity, let attributesType):
            (registration.kind, registration.activity) = (.liveactivity, activity)
            registration.attributesType = attributesType
        case .start(let attributesType):
            (registration.kind, registration.attributesType) = (.pushtostart, attributesType)
        }
        do {
            let device = try await client.registerDevice(registration)
            // An activity that has ended meanwhile has no registrar any more.
            guard registrars[use] != nil else { return try await client.unregister(device.id) }
            handle(.registered(device: device.id, attempt), for: use)
        } catch {
            if registrars[use] != nil { handle(.failed(attempt), for: use) }
        }
    }

    // An unreadable or unwritable record costs only one more registration.

    private static func read(_ file: URL) -> PushRegistrar.Record? {
        (try? Data(contentsOf: file)).flatMap { try? ClientJSON.decode(PushRegistrar.Record.self, from: $0) }
    }

    private func write(_ record: PushRegistrar.Record?) {
        guard let data = try? record.map(ClientJSON.encode) else {
            try? FileManager.default.removeItem(at: file)
            return
        }
        try? FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try? data.write(to: file, options: .atomic)
    }
}

/// A device token of Apple's push service in the server's format: hexadecimal digits, of no fixed length.
///
/// A party that knows the token can claim the device, so the token is neither printed nor stored.
struct EncodedPushToken: Sendable, Equatable {
    let hexadecimal: Redacted<String>

    /// - Parameter deviceToken: the argument of `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)`.
    init(_ deviceToken: Data) {
        let digits = Array("0123456789abcdef")
        hexadecimal = Redacted(String(deviceToken.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }))
    }

    /// A hash that distinguishes tokens without revealing them (FNV-1a).
    var fingerprint: UInt64 {
        hexadecimal.value.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

extension TelemetryEvent.Name {
    /// Apple has returned no device token; `reason` names the error.
    public static let pushTokenFailure = Self("push.token.failure")
}
