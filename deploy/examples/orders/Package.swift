// swift-tools-version: 6.2
import PackageDescription

// Gatehouse's folder `Shared`, or the URL to which `tools/publish.sh service` has published it.
let place = Context.environment["GATEHOUSE_PACKAGE"] ?? "../../../Shared"
let gatehouse: Package.Dependency =
    place.contains(":") ? .package(url: place, branch: "main") : .package(name: "gatehouse-service", path: place)

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
