// swift-tools-version: 6.2
import PackageDescription

// Gatehouse in one page: four services, the libraries they share, the bindings to C, the tests.
// Every arrow between targets stands here; `make lint` refuses an import that does not.

// MARK: - Settings

/// Whether this is `Shared/Package.swift`, a link to this file: `GatehouseService` with what it needs, for a team's own
/// services. `tools/publish.sh service` publishes it.
let isService = Context.packageDirectory.hasSuffix("/Shared")

let ours: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        // Xcode compiles packages that are fetched by URL with -suppress-warnings, which excludes this.
    ] + (isService ? [] : [.treatAllWarnings(as: .error)])

// One of these variables limits the package to a part of it.

/// The programs that `make up` starts.
let isSystemAlone = Context.environment["GATEHOUSE_SYSTEM_ONLY"] != nil
/// The fuzzer of `make test-fuzz`.
let isFuzzing = Context.environment["GATEHOUSE_FUZZ"] != nil

// MARK: - Helpers

/// A service is one executable: the service in `Sources`, its commands in `Main`. `others` are targets of their own.
///
/// Each service lists its migrations and SQL files by name, because embedded files cannot be enumerated. libFuzzer
/// brings a `main` of its own, so the fuzzer links the service as a library.
func service(
    _ name: String, uses dependencies: [Target.Dependency], embeds resources: [Resource] = [],
    besides others: [String] = []
) -> Target {
    let module = name.prefix(1).uppercased() + name.dropFirst() + "Service"
    let path = "Services/\(name)"
    return isFuzzing
        ? .target(
            name: module, dependencies: dependencies, path: path, exclude: ["README.md", "Main"] + others,
            resources: resources, swiftSettings: ours)
        : .executableTarget(
            name: module, dependencies: dependencies + [.argumentParser], path: path,
            exclude: ["README.md"] + others, resources: resources, swiftSettings: ours)
}

func shared(_ name: String, uses dependencies: [Target.Dependency] = [], besides others: [String] = []) -> Target {
    .target(
        name: name, dependencies: dependencies, path: isService ? name : "Shared/\(name)", exclude: others,
        swiftSettings: ours)
}

/// - Parameters:
///   - package: the package of Debian.
///   - pkgConfig: for headers in a folder of their own.
///   - formula: the formula of Homebrew, which keeps all headers in such folders.
func system(_ name: String, package: String, pkgConfig: String? = nil, formula: (String, pkgConfig: String)) -> Target {
    #if os(macOS)
        let pkgConfig: String? = formula.pkgConfig
    #endif
    return .systemLibrary(
        name: name, path: isService ? "System/\(name)" : "Shared/System/\(name)", pkgConfig: pkgConfig,
        providers: [.apt([package]), .brew([formula.0])])
}

func tests(
    _ name: String, uses dependencies: [Target.Dependency], besides others: [String] = []
) -> Target {
    .testTarget(
        name: "\(name)Tests", dependencies: dependencies + ["TestKit"], path: "Tests/\(name)Tests",
        exclude: others, swiftSettings: ours)
}

func library(_ name: String) -> Product { .library(name: name, targets: [name]) }

/// The target with all targets that it uses.
func needed(by name: String, of targets: [Target]) -> [Target] {
    var names: Set<String> = []
    func add(_ name: String) {
        guard let target = targets.first(where: { $0.name == name }), names.insert(name).inserted else { return }
        for case .byNameItem(let name, _) in target.dependencies { add(name) }
    }
    add(name)
    return targets.filter { names.contains($0.name) }
}

extension Target.Dependency {
    static func product(_ name: String, of package: String) -> Self { .product(name: name, package: package) }

    static let argumentParser = product("ArgumentParser", of: "swift-argument-parser")
    static let asyncHTTPClient = product("AsyncHTTPClient", of: "async-http-client")
    static let atomics = product("Atomics", of: "swift-atomics")
    static let collections = product("DequeModule", of: "swift-collections")
    static let crypto = product("Crypto", of: "swift-crypto")
    static let httpTypes = product("HTTPTypes", of: "swift-http-types")
    static let hummingbird = product("Hummingbird", of: "hummingbird")
    static let hummingbirdCore = product("HummingbirdCore", of: "hummingbird")
    static let lifecycle = product("ServiceLifecycle", of: "swift-service-lifecycle")
    static let logging = product("Logging", of: "swift-log")
    static let metrics = product("Metrics", of: "swift-metrics")
    static let metricsTestKit = product("MetricsTestKit", of: "swift-metrics")
    static let coreMetrics = product("CoreMetrics", of: "swift-metrics")
    static let nioCore = product("NIOCore", of: "swift-nio")
    static let nioPosix = product("NIOPosix", of: "swift-nio")
    static let nioEmbedded = product("NIOEmbedded", of: "swift-nio")
    static let nioHTTP1 = product("NIOHTTP1", of: "swift-nio")
    static let nioHTTPTypes = product("NIOHTTPTypes", of: "swift-nio-extras")
    static let nioHTTP2 = product("NIOHTTP2", of: "swift-nio-http2")
    static let nioHPACK = product("NIOHPACK", of: "swift-nio-http2")
    static let nioTLS = product("NIOTLS", of: "swift-nio")
    static let nioSSL = product("NIOSSL", of: "swift-nio-ssl")
    static let tracing = product("Tracing", of: "swift-distributed-tracing")
    static let unixSignals = product("UnixSignals", of: "swift-service-lifecycle")
    static let gatehouseClient = product("GatehouseClient", of: "gatehouse-swift")
    static let gatehouseContracts = product("GatehouseContracts", of: "gatehouse-swift")
    static let yams = product("Yams", of: "Yams")
}

// MARK: - The map

let system: [Target] = [
    system("CLibpq", package: "libpq-dev", pkgConfig: "libpq", formula: ("libpq", pkgConfig: "libpq")),
    system("CHiredis", package: "libhiredis-dev", formula: ("hiredis", pkgConfig: "hiredis")),
    system("CGatehouseOpenSSL", package: "libssl-dev", formula: ("openssl@3", pkgConfig: "libcrypto")),
    // bcrypt, for imported hashes. macOS has no such library, and its crypt(3) lacks bcrypt.
    system("CCrypt", package: "libcrypt-dev", formula: ("libxcrypt", pkgConfig: "libxcrypt")),
    system("CArgon2", package: "libargon2-dev", formula: ("argon2", pkgConfig: "libargon2")),
    system("CIdn2", package: "libidn2-dev", formula: ("libidn2", pkgConfig: "libidn2")),
]

// SwiftPM refuses two modules of one name in a build. So the name of each target that `GatehouseService` needs begins
// with Gatehouse, or CGatehouse.
let libraries: [Target] = [
    // Libraries without dependencies of ours.
    shared("GatehouseBytes"),
    shared(
        "GatehouseServiceContracts", uses: ["CGatehouseOpenSSL", .gatehouseContracts, "GatehouseBytes"],
        besides: ["Public"]),
    shared("GatehouseThreads", uses: ["CGatehouseOpenSSL"]),
    shared("GatehouseLimits"),
    // Libraries over one system or package each.
    shared("GatehouseInstruments", uses: [.coreMetrics]),
    shared("GatehouseAccessTokens", uses: ["CGatehouseOpenSSL", "GatehouseBytes", "GatehouseThreads"]),
    shared("Sealing", uses: [.crypto]),
    shared(
        "Postgres",
        uses: [
            "CLibpq", "GatehouseInstruments", "GatehouseLimits", "GatehouseThreads", .coreMetrics, .logging, .lifecycle,
        ]),
    shared(
        "Redis",
        uses: [
            "CHiredis", "GatehouseInstruments", "GatehouseLimits", .crypto, .nioCore, .nioPosix, .nioSSL, .logging,
            .lifecycle,
        ]),
    // The common part of all services.
    shared("GatehouseSettings", uses: [.yams]),
    shared(
        "GatehouseObservability",
        uses: [
            "GatehouseBytes", "GatehouseInstruments", "GatehouseThreads", .atomics, .lifecycle, .logging, .coreMetrics,
            .tracing,
        ]),
    shared(
        "GatehouseServiceKit",
        uses: [
            "GatehouseBytes", "GatehouseInstruments", "GatehouseLimits", "GatehouseObservability",
            "GatehouseServiceContracts", "GatehouseSettings", .argumentParser, .asyncHTTPClient, .httpTypes,
            .hummingbird, .hummingbirdCore, .lifecycle, .logging, .nioCore, .nioPosix, .nioHTTP1, .nioHTTPTypes,
            .nioSSL, .nioTLS, .tracing, .unixSignals,
        ]),
    shared(
        "GatehouseTokenValidation",
        uses: [
            "GatehouseAccessTokens", "GatehouseBytes", "GatehouseInstruments", "GatehouseLimits",
            "GatehouseServiceContracts", "GatehouseServiceKit", "GatehouseSettings", .asyncHTTPClient, .lifecycle,
            .logging, .nioCore,
        ]),
    // For services that other teams write: no database, no Redis, nothing of the gateway.
    shared(
        "GatehouseService",
        uses: [
            "GatehouseAccessTokens", "GatehouseBytes", "GatehouseInstruments", "GatehouseLimits",
            "GatehouseObservability", "GatehouseServiceContracts", "GatehouseServiceKit", "GatehouseSettings",
            "GatehouseTokenValidation", .argumentParser, .asyncHTTPClient, .httpTypes, .hummingbird, .hummingbirdCore,
            .lifecycle, .logging, .tracing,
        ]),
    // Apart from GatehouseServiceKit, so that the gateway links no PostgreSQL.
    shared(
        "ServiceKitPostgres",
        uses: [
            "GatehouseInstruments", "GatehouseLimits", "GatehouseObservability", "GatehouseServiceContracts",
            "GatehouseServiceKit", "GatehouseSettings", "Postgres", .argumentParser, .lifecycle, .logging,
        ]),
]

let services: [Target] = [
    .target(name: "CGatewayDocuments", path: "Services/gateway/Documents"),
    service(
        "gateway",
        uses: [
            "CGatewayDocuments", "GatehouseAccessTokens", "GatehouseBytes", "GatehouseInstruments", "GatehouseLimits",
            "GatehouseObservability", "GatehouseServiceContracts", "GatehouseServiceKit", "GatehouseSettings",
            "GatehouseThreads", "GatehouseTokenValidation", "Redis", .asyncHTTPClient, .collections, .crypto,
            .httpTypes, .lifecycle, .logging, .nioCore, .nioHPACK, .nioHTTP2, .nioPosix, .nioSSL, .nioTLS, .unixSignals,
            .yams,
        ],
        embeds: ["html", "css", "js"].map { .embedInCode("Sources/Operator/operator.\($0)") },
        besides: ["Documents"]),
    // Identity in the order in which its parts use each other.
    .target(
        name: "IdentityCore",
        dependencies: [
            "CIdn2", "GatehouseBytes", "GatehouseInstruments", "GatehouseLimits", "GatehouseServiceContracts",
            "GatehouseServiceKit", "GatehouseSettings", "Postgres", "Redis", "Sealing", "ServiceKitPostgres",
            .asyncHTTPClient, .crypto, .httpTypes, .hummingbird, .lifecycle, .logging, .nioCore, .nioHTTP1, .nioPosix,
            .nioSSL,
        ], path: "Services/identity/Core", resources: [.embedInCode("Messages/Templates")], swiftSettings: ours),
    .target(
        name: "IdentityCredentials",
        dependencies: [
            "CArgon2", .target(name: "CCrypt", condition: .when(platforms: [.linux])), "CGatehouseOpenSSL",
            "GatehouseAccessTokens", "GatehouseBytes", "GatehouseInstruments", "GatehouseLimits",
            "GatehouseServiceContracts", "GatehouseServiceKit", "GatehouseSettings", "GatehouseThreads",
            "GatehouseTokenValidation", "IdentityCore", "Postgres", "Sealing", "ServiceKitPostgres", .asyncHTTPClient,
            .crypto, .httpTypes, .hummingbird, .lifecycle, .logging, .nioCore, .nioHTTP1, .nioPosix,
        ], path: "Services/identity/Credentials",
        resources: ["Apple", "Codes", "Passwords"].map { .embedInCode("\($0)/Templates") }, swiftSettings: ours),
    service(
        "identity",
        uses: [
            "GatehouseBytes", "GatehouseInstruments", "GatehouseLimits", "GatehouseObservability",
            "GatehouseServiceContracts", "GatehouseServiceKit", "GatehouseSettings", "IdentityCore",
            "IdentityCredentials", "Postgres", "Redis", "Sealing", "ServiceKitPostgres", .asyncHTTPClient, .crypto,
            .httpTypes, .hummingbird, .lifecycle, .logging, .nioCore,
        ],
        embeds: ["Migrations", "Operators/Console/Files", "SQL"].map { .embedInCode("Sources/\($0)") },
        besides: ["Core", "Credentials"]),
    service(
        "tokens",
        uses: [
            "GatehouseAccessTokens", "GatehouseBytes", "GatehouseInstruments", "GatehouseLimits",
            "GatehouseObservability", "GatehouseServiceContracts", "GatehouseServiceKit", "GatehouseSettings",
            "Postgres", "Redis", "Sealing", "ServiceKitPostgres", .crypto, .httpTypes, .hummingbird, .lifecycle,
            .logging, .nioCore,
        ],
        embeds: ["Migrations", "SQL"].map { .embedInCode("Sources/\($0)") }),
    service(
        "devices",
        uses: [
            "GatehouseBytes", "GatehouseInstruments", "GatehouseLimits", "GatehouseObservability",
            "GatehouseServiceContracts", "GatehouseServiceKit", "GatehouseSettings", "Postgres", "Sealing",
            "ServiceKitPostgres", .collections, .crypto, .httpTypes, .hummingbird, .lifecycle, .logging, .nioCore,
            .nioHPACK, .nioHTTP2, .nioPosix, .nioSSL, .nioTLS, .yams,
        ],
        embeds: ["Migrations", "SQL"].map { .embedInCode("Sources/\($0)") }),
]

// Stands in for Apple in tests and development.
let simulator: [Target] = [
    .executableTarget(
        name: "AppleSimulator",
        dependencies: [
            "GatehouseAccessTokens", "GatehouseBytes", "GatehouseServiceContracts", "GatehouseServiceKit",
            "GatehouseSettings", .argumentParser, .crypto, .hummingbird, .httpTypes, .lifecycle, .logging, .nioCore,
            .nioHPACK, .nioHTTP2, .nioPosix, .nioSSL,
        ], path: "Tests/AppleSimulator", exclude: ["README.md"], swiftSettings: ours)
]

// The template that `deploy/examples/new-service` copies, built and tested here too.
let examples: [Target] = [
    .target(
        name: "OrdersService", dependencies: ["GatehouseService"],
        path: "deploy/examples/orders/Sources/OrdersService", swiftSettings: ours),
    .executableTarget(
        name: "orders", dependencies: ["GatehouseService", "OrdersService"],
        path: "deploy/examples/orders/Sources/orders", swiftSettings: ours),
]

// The app's library as a command. The library is the package in `Client`.
let command: [Target] = [
    .executableTarget(
        name: "GatehouseCommand", dependencies: ["GatehouseServiceContracts", .gatehouseClient, .argumentParser],
        path: "Client/gatehouse", swiftSettings: ours)
]

// The program of `make bench`.
let benchmarks: [Target] = [
    .executableTarget(
        name: "bench",
        dependencies: [
            "CArgon2", "GatehouseAccessTokens", "GatehouseServiceContracts", "Postgres", "Redis", "Sealing",
            .gatehouseClient, .argumentParser, .asyncHTTPClient, .collections, .crypto, .logging, .nioCore, .nioHTTP1,
            .nioPosix,
        ], path: "Tests/Benchmarks", exclude: ["Peers"], swiftSettings: ours)
]

let everyTest: [Target] =
    [
        .testTarget(
            name: "GatehouseCommandTests",
            dependencies: [
                "GatehouseCommand", "GatehouseServiceContracts", "TestKit", .gatehouseClient, .argumentParser,
            ],
            path: "Tests/GatehouseCommandTests", swiftSettings: ours),
        .target(
            name: "TestKit",
            dependencies: [
                "GatehouseLimits", "GatehouseObservability", "GatehouseServiceContracts", "GatehouseServiceKit",
                "GatehouseSettings", "Postgres", "Redis", .asyncHTTPClient, .crypto, .hummingbird, .hummingbirdCore,
                .logging, .nioCore, .nioHTTP1, .nioPosix, .nioSSL, .tracing,
            ], path: "Tests/TestKit", swiftSettings: ours),
        // The libraries that need no server, a folder each.
        tests(
            "Shared",
            uses: [
                "CGatehouseOpenSSL", "GatehouseAccessTokens", "GatehouseBytes", "GatehouseInstruments",
                "GatehouseLimits", "GatehouseObservability", "GatehouseService", "GatehouseServiceContracts",
                "GatehouseServiceKit", "GatehouseSettings", "GatehouseThreads", "GatehouseTokenValidation", "Sealing",
                .asyncHTTPClient, .coreMetrics, .crypto, .httpTypes, .hummingbird, .lifecycle, .logging,
                .metricsTestKit, .nioCore, .tracing,
            ]),
        .testTarget(
            name: "OrdersServiceTests", dependencies: ["GatehouseService", "OrdersService"],
            path: "deploy/examples/orders/Tests/OrdersServiceTests", swiftSettings: ours),
        tests("Postgres", uses: ["GatehouseLimits", "GatehouseThreads", "Postgres", .metrics, .metricsTestKit]),
        tests("Redis", uses: ["GatehouseLimits", "Redis", .nioCore, .nioPosix]),
        tests(
            "ServiceKit",
            uses: [
                "GatehouseBytes", "GatehouseInstruments", "GatehouseLimits", "GatehouseObservability",
                "GatehouseServiceContracts", "GatehouseServiceKit", "GatehouseSettings", "Postgres",
                "ServiceKitPostgres", .asyncHTTPClient, .httpTypes, .hummingbird, .hummingbirdCore, .lifecycle,
                .logging, .metricsTestKit, .nioCore, .nioEmbedded, .nioHTTP1, .nioHTTPTypes, .tracing,
            ]),
        tests(
            "AppleSimulator",
            uses: [
                "AppleSimulator", "GatehouseAccessTokens", "GatehouseBytes", "GatehouseServiceKit", "GatehouseSettings",
                .crypto,
            ]),
        tests(
            "Gateway",
            uses: [
                "GatehouseAccessTokens", "GatehouseBytes", "GatehouseObservability", "GatehouseServiceContracts",
                "GatehouseServiceKit", "GatehouseSettings", "GatehouseTokenValidation", "GatewayService", "Redis",
                .asyncHTTPClient, .crypto, .lifecycle, .logging, .nioCore, .nioEmbedded, .nioPosix, .nioHPACK,
                .nioHTTP1, .nioHTTP2, .nioSSL,
            ], besides: ["Fuzz/FuzzEntry.swift", "Fuzz/Corpus", "Support/upstream.py"]),
        tests(
            "Identity",
            uses: [
                "AppleSimulator", "GatehouseAccessTokens", "GatehouseBytes", "GatehouseLimits",
                "GatehouseServiceContracts", "GatehouseServiceKit", "GatehouseSettings", "IdentityCore",
                "IdentityCredentials", "IdentityService", "Postgres", "Redis", "Sealing", "ServiceKitPostgres",
                .asyncHTTPClient, .crypto, .httpTypes, .hummingbird, .lifecycle, .metricsTestKit, .nioCore, .nioHTTP1,
                .nioPosix,
            ], besides: ["Identifiers/example_numbers.py"]),
        tests(
            "Tokens",
            uses: [
                "GatehouseAccessTokens", "GatehouseLimits", "GatehouseServiceContracts", .gatehouseClient,
                "GatehouseServiceKit", "GatehouseSettings", "Postgres", "Redis", "Sealing", "ServiceKitPostgres",
                "TokensService", .metrics, .metricsTestKit, .nioCore,
            ]),
        // Requests to all services but the gateway, changed at random.
        tests(
            "Fuzz",
            uses: [
                "DevicesService", "GatehouseBytes", "GatehouseServiceContracts", "GatehouseServiceKit", "IdentityCore",
                "IdentityCredentials", "IdentityService", "Postgres", "Sealing", "TokensService",
            ], besides: ["FuzzEntry.swift", "Corpus"]),
        tests(
            "Devices",
            uses: [
                "DevicesService", "GatehouseBytes", "GatehouseInstruments", "GatehouseServiceContracts",
                "GatehouseServiceKit", "GatehouseSettings", "Postgres", "Sealing", .crypto, .hummingbird, .lifecycle,
                .logging, .metricsTestKit, .nioCore, .nioHPACK, .nioHTTP2, .nioPosix, .nioSSL,
            ]),
        // Against the running system: real binaries, real sockets, real faults.
        tests(
            "EndToEnd",
            uses: [
                "GatehouseAccessTokens", "GatehouseBytes", "GatehouseService", "GatehouseServiceContracts",
                .gatehouseClient, "Postgres", "Redis", .asyncHTTPClient, .crypto, .httpTypes, .hummingbird, .nioCore,
                .nioPosix,
            ],
            besides: ["OAuth/authlib_client.py"]),
    ]

let fuzzers: [Target] = [
    .executableTarget(
        name: "fuzz",
        dependencies: [
            "GatehouseAccessTokens", "GatehouseBytes", "GatehouseServiceContracts", "GatewayService", .nioCore,
            .nioEmbedded, .nioHTTP1,
        ],
        path: "Tests/GatewayTests/Fuzz", exclude: ["Corpus", "CorpusTests.swift"], swiftSettings: ours),
    .executableTarget(
        name: "fuzz-requests",
        dependencies: [
            "DevicesService", "GatehouseBytes", "GatehouseServiceContracts", "GatehouseServiceKit", "IdentityCore",
            "IdentityCredentials", "IdentityService", "Postgres", "Sealing", "TokensService",
        ], path: "Tests/FuzzTests", exclude: ["Corpus", "RequestFuzzTests.swift"], swiftSettings: ours),
]

// MARK: - The package

let programs: [Product] = [
    .executable(name: "gateway", targets: ["GatewayService"]),
    .executable(name: "identity", targets: ["IdentityService"]),
    .executable(name: "tokens", targets: ["TokensService"]),
    .executable(name: "devices", targets: ["DevicesService"]),
    .executable(name: "apple-simulator", targets: ["AppleSimulator"]),
]
let commandProduct = Product.executable(name: "gatehouse", targets: ["GatehouseCommand"])

let server = system + libraries + services
let (products, targets): ([Product], [Target]) =
    if isService {
        ([library("GatehouseService")], needed(by: "GatehouseService", of: system + libraries))
    } else if isSystemAlone {
        (programs, server + simulator)
    } else if isFuzzing {
        ([], server + fuzzers)
    } else {
        (programs + [commandProduct], server + simulator + command + examples + benchmarks + everyTest)
    }

/// The version of each package. `GatehouseService` also takes later ones that are compatible, so that a team chooses
/// the versions of its service.
let versions: [(url: String, version: Version)] = [
    ("https://github.com/apple/swift-argument-parser", "1.8.2"),
    ("https://github.com/apple/swift-atomics", "1.3.0"),
    ("https://github.com/apple/swift-collections", "1.6.0"),
    ("https://github.com/apple/swift-crypto", "4.5.2"),
    ("https://github.com/apple/swift-distributed-tracing", "1.7.3"),
    ("https://github.com/apple/swift-http-types", "1.8.0"),
    ("https://github.com/apple/swift-log", "1.16.2"),
    ("https://github.com/apple/swift-metrics", "2.13.0"),
    ("https://github.com/apple/swift-nio", "2.101.2"),
    ("https://github.com/apple/swift-nio-extras", "1.35.2"),
    ("https://github.com/apple/swift-nio-http2", "1.46.0"),
    ("https://github.com/apple/swift-nio-ssl", "2.37.6"),
    ("https://github.com/hummingbird-project/hummingbird", "2.28.1"),
    ("https://github.com/jpsim/Yams", "6.2.2"),
    ("https://github.com/swift-server/async-http-client", "1.37.0"),
    ("https://github.com/swift-server/swift-service-lifecycle", "2.13.0"),
]
let used = targets.flatMap(\.dependencies).compactMap { dependency in
    if case .productItem(_, let package, _, _) = dependency { package } else { nil }
}
let packages: [Package.Dependency] = versions.compactMap { url, version in
    guard isService else { return .package(url: url, exact: version) }
    return used.contains { url.hasSuffix("/\($0)") } ? .package(url: url, from: version) : nil
}

let package = Package(
    name: isService ? "gatehouse-service" : "gatehouse",
    platforms: [.macOS(.v15)],
    products: products,
    dependencies: [.package(name: "gatehouse-swift", path: isService ? "../Client" : "Client")] + packages,
    targets: targets,
    // CGatewayDocuments has #embed.
    cLanguageStandard: .c2x
)
