import ServiceKit

extension AppleTransfer {
    /// Runs `body` with the settings of the environment, as the service would read them.
    public static func run(_ body: (AppleTransfer) async throws -> Void) async throws {
        let configuration = try ServiceConfiguration<IdentityApplication>.loadOrExit().application
        try await IdentityParts.run(configuration) { parts in
            guard let transfer = parts.appleTransfer else {
                throw Failure(
                    description: "The team's key at Apple is not set: IDENTITY_APPLE_TEAM_ID and its two others.")
            }
            try await body(transfer)
        }
    }
}
