import ArgumentParser
import Contracts
import Foundation

/// `devices list --user UUID`
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List a user's devices, the last registered first. Tokens are not shown.")

    @Option(help: "The user's identifier.", transform: ListCommand.uuid)
    var user: UUID

    func run() async throws {
        for device in try await DeviceAdministration().devices(of: user) {
            let fields = [
                device.id.uuidString.lowercased(), device.status.rawValue, device.environment.rawValue,
                device.kind.rawValue, device.bundleId, device.installationId ?? "-", device.model ?? "-",
                device.updatedAt.formatted(.iso8601),
            ]
            print(fields.joined(separator: "\t"))
        }
    }

    private static func uuid(_ text: String) throws -> UUID {
        guard let uuid = UUID(uuidString: text) else { throw ValidationError("'\(text)' is not a UUID.") }
        return uuid
    }
}
