// swift-tools-version: 6.2
import PackageDescription

// `GatehouseService` for a team's own services. Gatehouse's servers are built by another manifest, which pins each package;
// this one takes ranges, so that a team chooses the versions of its service. `tools/publish.sh service` publishes it.

// Warnings are not errors here: Xcode compiles packages that are fetched by URL with -suppress-warnings, which excludes
// that.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

func library(_ name: String, uses dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: name, swiftSettings: settings)
}

func product(_ name: String, of package: String) -> Target.Dependency { .product(name: name, package: package) }

let argumentParser = product("ArgumentParser", of: "swift-argument-parser")
let asyncHTTPClient = product("AsyncHTTPClient", of: "async-http-client")
let coreMetrics = product("CoreMetrics", of: "swift-metrics")
let httpTypes = product("HTTPTypes", of: "swift-http-types")
let hummingbird = product("Hummingbird", of: "hummingbird")
let hummingbirdCore = product("HummingbirdCore", of: "hummingbird")
let lifecycle = product("ServiceLifecycle", of: "swift-service-lifecycle")
let logging = product("Logging", of: "swift-log")
let nioCore = product("NIOCore", of: "swift-nio")
let serviceContext = product("ServiceContextModule", of: "swift-service-context")

#if os(macOS)
    let openSSL: String? = "libcrypto"
#else
    let openSSL: String? = nil
#endif

let package = Package(
    name: "gatehouse-service",
    platforms: [.macOS(.v15)],
    products: [.library(name: "GatehouseService", targets: ["GatehouseService"])],
    dependencies: [
        .package(name: "gatehouse-swift", path: "../Client"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-atomics", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-service-context", from: "1.5.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .systemLibrary(
            name: "COpenSSL", path: "System/COpenSSL", pkgConfig: openSSL,
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
        library("Bytes"),
        .target(
            name: "Contracts",
            dependencies: ["Bytes", product("GatehouseContracts", of: "gatehouse-swift"), "COpenSSL"],
            path: "Contracts", exclude: ["Public"], swiftSettings: settings),
        library("Threads", uses: ["COpenSSL"]),
        library("Limits"),
        library("Instruments", uses: [coreMetrics]),
        library("AccessToken", uses: ["Bytes", "COpenSSL", "Threads"]),
        library("Settings", uses: [product("Yams", of: "Yams")]),
        library(
            "Observability",
            uses: [
                "Bytes", "Instruments", "Threads", product("Atomics", of: "swift-atomics"), lifecycle, logging,
                coreMetrics, serviceContext,
            ]),
        library(
            "ServiceKit",
            uses: [
                "Bytes", "Contracts", "Instruments", "Limits", "Observability", "Settings", argumentParser,
                asyncHTTPClient, httpTypes, hummingbird, hummingbirdCore, lifecycle, logging, nioCore,
                product("NIOPosix", of: "swift-nio"), product("NIOHTTP1", of: "swift-nio"),
                product("NIOHTTPTypes", of: "swift-nio-extras"), product("NIOSSL", of: "swift-nio-ssl"),
                product("NIOTLS", of: "swift-nio"), serviceContext,
                product("UnixSignals", of: "swift-service-lifecycle"),
            ]),
        library(
            "TokenValidation",
            uses: [
                "AccessToken", "Bytes", "Contracts", "Instruments", "Limits", "ServiceKit", "Settings", asyncHTTPClient,
                lifecycle, logging, nioCore,
            ]),
        library(
            "GatehouseService",
            uses: [
                "AccessToken", "Bytes", "Contracts", "Instruments", "Limits", "Observability", "ServiceKit", "Settings",
                "TokenValidation", argumentParser, asyncHTTPClient, httpTypes, hummingbird, hummingbirdCore, lifecycle,
                logging,
            ]),
    ]
)
