// swift-tools-version: 6.2
import PackageDescription

// A program that uses only GatehouseClient. In your own package, replace the path by the repository's URL:
// .package(url: …, from: …).
let package = Package(
    name: "minimal",
    platforms: [.macOS(.v15), .iOS(.v16)],
    // Without the trait "Server" SwiftPM does not fetch the services' dependencies.
    dependencies: [.package(name: "gatehouse", path: "../../..", traits: [])],
    targets: [
        .executableTarget(
            name: "minimal", dependencies: [.product(name: "GatehouseClient", package: "gatehouse")], path: "Sources")
    ])
