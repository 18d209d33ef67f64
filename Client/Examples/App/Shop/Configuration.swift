import Foundation
import GatehouseClient
import UIKit

extension GatehouseConfiguration {
    /// The server of `GatehouseURL` in Info.plist; with the launch argument `-stub` a server in memory, in debug builds.
    @MainActor
    static var shop: GatehouseConfiguration {
        #if DEBUG
            if ProcessInfo.processInfo.arguments.contains("-stub") { return .stub }
        #endif
        let text = Bundle.main.object(forInfoDictionaryKey: "GatehouseURL") as? String
        guard let url = text.flatMap(URL.init(string:)) else { fatalError("there is no GatehouseURL in Info.plist") }
        let device = UIDevice.current
        return GatehouseConfiguration(
            baseURL: url, store: KeychainTokenStore(), connectivity: SystemConnectivity(),
            telemetry: OSLogTelemetry(),
            device: SessionDevice(
                installationId: installationID, name: device.name, model: device.model,
                osVersion: device.systemVersion))
    }

    /// Chosen once for each installation, by which the server knows the device again. It is no secret.
    private static var installationID: String {
        let key = "installation"
        if let known = UserDefaults.standard.string(forKey: key) { return known }
        let new = UUID().uuidString
        UserDefaults.standard.set(new, forKey: key)
        return new
    }
}
