import Foundation
import GatehouseClient

extension GatehouseClient {
    /// The app's client, for the server of `GatehouseURL` in Info.plist. In debug builds, the launch argument `-stub`
    /// selects an in-memory server. With `-biometry` the session requires Face ID or Touch ID.
    static let shop: GatehouseClient = {
        #if DEBUG
            if let stub = stubOfThisLaunch { return stub }
        #endif
        let text = Bundle.main.object(forInfoDictionaryKey: "GatehouseURL") as? String
        guard let url = text.flatMap(URL.init(string:)) else { fatalError("there is no GatehouseURL in Info.plist") }
        return .live(baseURL: url) {
            if ProcessInfo.processInfo.arguments.contains("-biometry") {
                $0.store = KeychainTokenStore(KeychainTokenStore.Options(unlockPolicy: .biometrics))
            }
        }
    }()
}

extension PushEnvironment {
    /// The build setting `APS_ENVIRONMENT` sets both the entitlement and `APSEnvironment` in Info.plist.
    static var ofThisBuild: PushEnvironment {
        let text = Bundle.main.object(forInfoDictionaryKey: "APSEnvironment") as? String
        guard let environment = PushEnvironment(entitlement: text) else {
            fatalError("APSEnvironment in Info.plist is neither development nor production")
        }
        return environment
    }
}
