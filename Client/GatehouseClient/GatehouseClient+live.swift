import GatehouseContracts
public import Foundation

extension GatehouseClient {
    /// Creates the client of an app: with the Keychain, the system's connectivity and log, an `installationId`, and a
    /// monitor of the user's consent to Sign in with Apple (``GatehouseConfiguration/monitorsAppleCredential``). On
    /// Linux the session is in a file in the user's application support folder.
    ///
    /// ```swift
    /// let client = GatehouseClient.live(baseURL: URL(string: "https://api.example.com")!)
    /// ```
    ///
    /// - Parameters:
    ///   - baseURL: the gateway's URL (``GatehouseConfiguration/baseURL``). An invalid one ends the
    ///     process, as does a Keychain account that a client of another server uses.
    ///   - configure: changes the configuration, for example the store or the transport.
    public static func live(
        baseURL: URL, _ configure: (inout GatehouseConfiguration) -> Void = { _ in }
    ) -> GatehouseClient {
        var configuration = GatehouseConfiguration.live(baseURL: baseURL)
        configure(&configuration)
        do throws(GatehouseError) {
            let client = try GatehouseClient(configuration: configuration)
            #if canImport(AuthenticationServices)
                if configuration.monitorsAppleCredential {
                    Task { await client.session.add(AppleCredentialMonitor(session: client.session)) }
                }
            #endif
            return client
        } catch {
            fatalError("\(configuration.baseURL): \(error.reason ?? "\(error.kind)")")
        }
    }
}

extension GatehouseConfiguration {
    fileprivate static func live(baseURL: URL) -> GatehouseConfiguration {
        var device = SessionDevice.current
        device.installationId = InstallationID.ofThisApp.read()
        #if canImport(Security)
            return GatehouseConfiguration(
                baseURL: baseURL, store: KeychainTokenStore(), connectivity: SystemConnectivity(),
                telemetry: OSLogTelemetry(), device: device)
        #else
            return GatehouseConfiguration(baseURL: baseURL, store: FileTokenStore(file: file), device: device)
        #endif
    }

    #if !canImport(Security)
        /// Each program has its own file.
        private static var file: URL {
            let folder = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
            return (folder ?? FileManager.default.homeDirectoryForCurrentUser)
                .appendingPathComponent(ProcessInfo.processInfo.processName)
                .appendingPathComponent("gatehouse.json")
        }
    #endif
}
