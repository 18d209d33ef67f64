// swift-tools-version: 6.2
import PackageDescription

// Links the client's sources and adds modules with the names of Apple's. `#if canImport(Security)` is true on Linux
// only in this package, so the code for Apple's systems is compiled, and parts of it are tested. In the client's own
// package, every target would see these modules, depending on the build order.

// With APPLE_STAND_INS=macOS, AppKit takes the place of UIKit, so that the code for Macs is compiled. The example app
// and the tests are for iOS.
let isMac = Context.environment["APPLE_STAND_INS"] == "macOS"
let applicationKit: Target.Dependency = isMac ? "AppKit" : "UIKit"

let ours: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

func standIn(_ name: String, uses dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: ours)
}

let standIns: [Target] = [
    .systemLibrary(name: "COpenSSL"),
    standIn("AuthenticationServices", uses: ["SwiftUI", applicationKit]),
    standIn("Combine"),
    standIn("CryptoKit", uses: ["COpenSSL"]),
    standIn("LocalAuthentication", uses: ["Security"]),
    standIn("Network"),
    standIn("OSLog"),
    standIn("Security"),
    standIn("SwiftUI", uses: ["Combine", applicationKit]),
    standIn("UserNotifications"),
    standIn(isMac ? "AppKit" : "UIKit"),
]

let iOSTargets: [Target] = [
    // The example app does not import FoundationNetworking, because Apple's Foundation includes it.
    .executableTarget(
        name: "Shop",
        dependencies: [
            "GatehouseClient", "GatehouseContracts", "GatehouseUI", "Security", "SwiftUI", "UIKit", "UserNotifications",
        ],
        swiftSettings: ours + [
            .unsafeFlags(["-Xfrontend", "-import-module", "-Xfrontend", "FoundationNetworking"])
        ]),
    .testTarget(
        name: "AppleStandInsTests",
        dependencies: [
            "AuthenticationServices", "GatehouseContracts", "CryptoKit", "GatehouseClient", "GatehouseUI",
            "LocalAuthentication", "Network", "OSLog", "Security", "Shop", "SwiftUI", "UIKit", "UserNotifications",
        ],
        path: "Tests", swiftSettings: ours),
]

let package = Package(
    name: "apple-stand-ins",
    defaultLocalization: "en",
    platforms: [.macOS(.v15), .iOS(.v16)],
    targets: standIns + [
        .target(name: "GatehouseContracts", swiftSettings: ours),
        .target(
            name: "GatehouseClient",
            dependencies: [
                "AuthenticationServices", "GatehouseContracts", "CryptoKit", "LocalAuthentication", "Network", "OSLog",
                "Security",
            ],
            resources: [.process("Resources")], swiftSettings: ours),
        .target(
            name: "GatehouseUI",
            dependencies: [
                "AuthenticationServices", "Combine", "GatehouseContracts", "GatehouseClient", "LocalAuthentication",
                "SwiftUI", "UserNotifications", applicationKit,
            ],
            swiftSettings: ours),
    ] + (isMac ? [] : iOSTargets)
)
