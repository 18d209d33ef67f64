public import GatehouseContracts
import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

extension SessionDevice {
    /// This device and this version of the app, for the user's list of sessions: `iPhone17,1`, `18.6.2`, `2.4`.
    /// `GatehouseClient.live(baseURL:_:)` adds an `installationId`.
    public static var current: SessionDevice {
        let system = ProcessInfo.processInfo.operatingSystemVersion
        var version = "\(system.majorVersion).\(system.minorVersion)"
        if system.patchVersion > 0 { version += ".\(system.patchVersion)" }
        return SessionDevice(
            model: hardwareModel, osVersion: version,
            appVersion: Bundle.main.object(forInfoDictionaryKey: "CFBundleShortVersionString") as? String)
    }

    /// Apple's identifier of the model. `nil` if the system does not report it.
    private static var hardwareModel: String? {
        #if targetEnvironment(simulator)
            // The name of the machine would be the Mac's.
            return ProcessInfo.processInfo.environment["SIMULATOR_MODEL_IDENTIFIER"]
        #elseif os(macOS)
            // On a Mac `utsname.machine` names the processor.
            var size = 0
            guard sysctlbyname("hw.model", nil, &size, nil, 0) == 0 else { return nil }
            var bytes = [UInt8](repeating: 0, count: size)
            guard sysctlbyname("hw.model", &bytes, &size, nil, 0) == 0 else { return nil }
            return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        #else
            var system = utsname()
            guard uname(&system) == 0 else { return nil }
            return withUnsafeBytes(of: &system.machine) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
        #endif
    }
}
