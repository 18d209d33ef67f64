// swift-tools-version: 6.2
import PackageDescription

// The folder `Shared` of Gatehouse.
let gatehouse = Package.Dependency.package(
    name: "gatehouse-service", path: Context.environment["GATEHOUSE_PACKAGE"] ?? "../../../Shared")

let service = Target.Dependency.product(name: "GatehouseService", package: "gatehouse-service")

let package = Package(
    name: "orders",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "orders", targets: ["orders"])],
    dependencies: [gatehouse],
    targets: [
        .target(name: "OrdersService", dependencies: [service]),
        .executableTarget(name: "orders", dependencies: ["OrdersService", service]),
        .testTarget(name: "OrdersServiceTests", dependencies: ["OrdersService", service]),
    ])
