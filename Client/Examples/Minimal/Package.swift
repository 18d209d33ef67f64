// swift-tools-version: 6.2
import PackageDescription

// A program on GatehouseClient, and nothing else of the repository. An app's own package names the repository by its
// address, .package(url: …, from: …), in place of the path.
let package = Package(
    name: "minimal",
    platforms: [.macOS(.v15), .iOS(.v16)],
    // Without the trait "Server" nothing that only the services need is fetched.
    dependencies: [.package(name: "gatehouse", path: "../../..", traits: [])],
    targets: [
        .executableTarget(
            name: "minimal", dependencies: [.product(name: "GatehouseClient", package: "gatehouse")], path: "Sources")
    ])
