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
