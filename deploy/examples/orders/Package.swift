// swift-tools-version: 6.2
import PackageDescription

// Where Gatehouse is. In place of the folder a release: .package(url: "https://…/gatehouse", exact: "…")
let gatehouse = Package.Dependency.package(
    name: "gatehouse", path: Context.environment["GATEHOUSE_PACKAGE"] ?? "../../..")

let service = Target.Dependency.product(name: "GatehouseService", package: "gatehouse")

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
