import Foundation
import GatehouseServiceContracts

/// A push by which operators see whether pushes reach their own devices.
enum TestPushRules {
    static let defaultTitle = "Test push"
    /// Unicode scalars.
    static let maximumTitle = 100
    static let maximumBody = 500
    /// Seconds until the push expires. An operator waits no longer for its result.
    static let period: TimeInterval = 300

    /// The push to all devices of the user that have an app.
    ///
    /// - Parameters:
    ///   - apps: the apps for whose alerts the user's devices have registered.
    /// - Returns: `nil` if there is no app.
    /// - Throws: ``InvalidPush`` with every field that is wrong.
    static func validate(
        _ request: TestPushRequest, to user: UUID, apps: Set<String>, now: Date
    ) throws -> ValidPush? {
        var wrong: [InvalidRegistration.Field] = []
        for (name, text, maximum) in [("title", request.title, maximumTitle), ("body", request.body, maximumBody)] {
            guard let text, !(1...maximum).contains(text.unicodeScalars.count) else { continue }
            wrong.append(.init(name: name, message: "Must have 1 to \(maximum) characters."))
        }
        let app = request.bundleId ?? (apps.count == 1 ? apps.first : nil)
        if !apps.isEmpty, app.map(apps.contains) != true {
            wrong.append(
                .init(name: "bundleId", message: "Must be one of \(apps.sorted().joined(separator: ", "))."))
        }
        guard wrong.isEmpty else { throw InvalidPush(fields: wrong) }
        guard !apps.isEmpty, let app else { return nil }
        let payload = alert(title: request.title ?? defaultTitle, body: request.body)
        let push = PushRequest(
            targets: .init(users: [user]), bundleId: app, pushType: .alert, priority: .immediate,
            expiresAt: now + period, payload: payload, urgency: .urgent)
        return try PushRules.validate(push, payload: Array(JSON.encode(payload)), now: now)
    }

    /// The payload of an alert with a sound. Apple, "Generating a remote notification".
    static func alert(title: String, body: String?) -> JSONValue {
        var alert: [VerbatimString: JSONValue] = ["title": .string(title)]
        if let body { alert["body"] = .string(body) }
        return .object(["aps": .object(["alert": .object(alert), "sound": .string("default")])])
    }
}
