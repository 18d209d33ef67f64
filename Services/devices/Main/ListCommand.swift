import ArgumentParser
import Foundation
import GatehouseServiceContracts

/// `devices list --user UUID`
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List a user's devices, the last seen first. Tokens are not shown.")

    @OptionGroup var options: UserOption

    func run() async throws {
        let administration = try DeviceAdministration()
        for device in try await administration.devices(of: options.user) {
            let fields = [
                device.id.uuidString.lowercased(), administration.status(of: device), device.environment.rawValue,
                device.kind.rawValue, device.bundleId, device.installationId ?? "-", device.model ?? "-",
                device.updatedAt.formatted(.iso8601), device.alertsAllowed.map { $0 ? "alerts" : "noAlerts" } ?? "-",
            ]
            print(fields.joined(separator: "\t"))
        }
    }
}

/// `devices events --user UUID`
struct EventsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "List when push tokens of a user passed to other users: time, event, new user, token's hash.")

    @OptionGroup var options: UserOption

    func run() async throws {
        for change in try await DeviceAdministration().ownerChanges(of: options.user) {
            let token = change.token.map { String(format: "%02x", $0) }.joined()
            let fields = [
                change.at.formatted(.iso8601), "tokenOwnerChanged", change.newUser.uuidString.lowercased(), token,
            ]
            print(fields.joined(separator: "\t"))
        }
    }
}

/// `devices push --user UUID --title TEXT`
struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Send a notification to a user's devices. Prints the push's id and the number of devices.")

    @OptionGroup var options: UserOption

    @Option(help: "The notification's title.")
    var title: String

    @Option(help: "The notification's text.")
    var body: String?

    @Option(help: "The app's bundle id. Default: the only one of the user's devices.")
    var bundle: String?

    func run() async throws {
        let push = try await DeviceAdministration().push(
            to: options.user, title: title, body: body, bundleID: bundle)
        print("\(push.id)\t\(push.devices)")
    }
}

/// `--user UUID`
struct UserOption: ParsableArguments {
    @Option(help: "The user's identifier.", transform: Self.uuid)
    var user: UUID

    private static func uuid(_ text: String) throws -> UUID {
        guard let uuid = UUID(uuidString: text) else { throw ValidationError("'\(text)' is not a UUID.") }
        return uuid
    }
}
