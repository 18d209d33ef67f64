// swift-tools-version: 6.0
import PackageDescription

// What an app is built with. `tools/publish.sh client` publishes this folder as a repository of its own, because
// SwiftPM takes a package by URL only from the root of a repository.

/// Xcode compiles packages that it fetches by URL with -suppress-warnings, and the compiler refuses that together with
/// -warnings-as-errors. So only Gatehouse's own builds set the variable.
let warningsAreErrors = Context.environment["GATEHOUSE_WARNINGS_AS_ERRORS"] != nil

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
    ] + (warningsAreErrors ? [.unsafeFlags(["-warnings-as-errors"])] : [])

// Only `make docs` fetches the tool for documentation.
let documenting: [Package.Dependency] =
    Context.environment["GATEHOUSE_DOCS"] == nil
    ? [] : [.package(url: "https://github.com/swiftlang/swift-docc-plugin", exact: "1.5.0")]

let package = Package(
    name: "gatehouse-swift",
    defaultLocalization: "en",
    platforms: [.macOS(.v13), .iOS(.v16)],
    products: [
        .library(name: "GatehouseClient", targets: ["GatehouseClient"]),
        .library(name: "GatehouseUI", targets: ["GatehouseUI"]),
        .library(name: "GatehouseContracts", targets: ["GatehouseContracts"]),
    ],
    dependencies: documenting,
    targets: [
        // A link to Shared/GatehouseServiceContracts/Public: a target's folder must be inside its package.
        .target(name: "GatehouseContracts", path: "GatehouseContracts", swiftSettings: settings),
        .target(
            name: "GatehouseClient", dependencies: ["GatehouseContracts"], path: "GatehouseClient",
            resources: [.process("Resources")], swiftSettings: settings),
        .target(
            name: "GatehouseUI", dependencies: ["GatehouseClient", "GatehouseContracts"], path: "GatehouseUI",
            swiftSettings: settings),
        .testTarget(
            name: "GatehouseClientTests", dependencies: ["GatehouseClient", "GatehouseContracts"],
            path: "Tests", swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
