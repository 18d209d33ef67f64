// swift-tools-version: 6.2
import PackageDescription

// Links the client's sources and adds modules with the names of Apple's. `#if canImport(Security)` is true on Linux
// only in this package, so the code for Apple's systems is compiled, and parts of it are tested. In the client's own
// package, every target would see these modules, depending on the build order.
//
// `tools/checks/test-client.sh` builds a copy in which `#if canImport(FoundationNetworking)` is false, as on Apple's
// systems.

// With APPLE_STAND_INS=macOS, AppKit takes the place of UIKit, so that the code for Macs is compiled. The example app
// and the tests are for iOS.
let isMac = Context.environment["APPLE_STAND_INS"] == "macOS"
let applicationKit: Target.Dependency = isMac ? "AppKit" : "UIKit"

/// Apple's Foundation has the types of FoundationNetworking, so sources that import Foundation see that module too.
let appleFoundation = SwiftSetting.unsafeFlags(["-Xfrontend", "-import-module", "-Xfrontend", "FoundationNetworking"])

let ours: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .treatAllWarnings(as: .error),
    ] + (Context.environment["APPLE_FOUNDATION"] == nil ? [] : [appleFoundation])

func standIn(_ name: String, uses dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: ours)
}

let standIns: [Target] = [
    .systemLibrary(name: "CGatehouseOpenSSL"),
    standIn("AuthenticationServices", uses: ["SwiftUI", applicationKit]),
    standIn("Combine"),
    standIn("CryptoKit", uses: ["CGatehouseOpenSSL"]),
    standIn("LocalAuthentication", uses: ["Security"]),
    standIn("Network"),
    standIn("OSLog"),
    standIn("Security"),
    standIn("SwiftUI", uses: ["Combine", applicationKit]),
    standIn("UserNotifications"),
    standIn(isMac ? "AppKit" : "UIKit"),
]

let iOSTargets: [Target] = [
    // The example app is for Apple's systems alone.
    .executableTarget(
        name: "Shop",
        dependencies: [
            "GatehouseClient", "GatehouseContracts", "GatehouseUI", "Security", "SwiftUI", "UIKit", "UserNotifications",
        ],
        swiftSettings: ours + [appleFoundation]),
    // What the client's articles print, as a new app of Xcode 26 compiles it.
    .target(
        name: "Articles",
        dependencies: [
            "AuthenticationServices", "GatehouseClient", "GatehouseContracts", "GatehouseUI", "SwiftUI", "UIKit",
            "UserNotifications",
        ],
        swiftSettings: ours + [.defaultIsolation(MainActor.self)]),
    .testTarget(
        name: "AppleStandInsTests",
        dependencies: [
            "Articles", "AuthenticationServices", "GatehouseContracts", "CryptoKit", "GatehouseClient", "GatehouseUI",
            "LocalAuthentication", "Network", "OSLog", "Security", "Shop", "SwiftUI", "UIKit", "UserNotifications",
        ],
        path: "Tests", swiftSettings: ours),
    .testTarget(
        name: "GatehouseClientTests", dependencies: ["GatehouseClient", "GatehouseContracts"], path: "ClientTests",
        swiftSettings: ours),
]

let package = Package(
    name: "gatehouse-swift",
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
