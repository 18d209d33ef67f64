// swift-tools-version: 6.0
import PackageDescription

// A program that uses only GatehouseClient. In your own package, replace the path by the repository's URL:
// .package(url: …, from: …).
let package = Package(
    name: "minimal",
    platforms: [.macOS(.v13), .iOS(.v16)],
    dependencies: [.package(name: "gatehouse-swift", path: "../..")],
    targets: [
        .executableTarget(
            name: "minimal", dependencies: [.product(name: "GatehouseClient", package: "gatehouse-swift")],
            path: "Sources")
    ])
