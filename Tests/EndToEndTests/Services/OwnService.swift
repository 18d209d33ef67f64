import Foundation
import TestKit

/// A service of a team's own, in each of the languages that there is an example in.
enum OwnService: String, CaseIterable, Sendable {
    case swift
    case python
    case javascript

    /// The folder of what others may begin with.
    static let examples = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "deploy/examples")
    /// What `make test-examples` has made of the template; `nil`: the template itself, under its own name.
    private static let made = ProcessInfo.processInfo.environment["GATEHOUSE_TEST_SERVICE"].map { URL(filePath: $0) }

    /// As in `orders`: the last segment of its path, and the beginning of its settings.
    var name: String { self == .swift ? Self.made?.lastPathComponent ?? "orders" : "orders" }
    private var prefix: String { name.uppercased().replacing("-", with: "_") }

    /// Its routes, as the file in its folder has them.
    func routesFile(port: Int) throws -> String {
        let folder = self == .swift ? Self.made : nil
        let file = (folder ?? Self.examples.appending(path: "orders")).appending(path: "routes.yaml")
        return try String(contentsOf: file, encoding: .utf8)
            .replacingOccurrences(of: "127.0.0.1:9000", with: "127.0.0.1:\(port)")
    }

    /// What the gateway needs in its environment for these routes.
    func gatewaySettings(routesFile: URL, credential: String) -> [String: String] {
        ["GATEWAY_ROUTES_FILE": routesFile.path(), "CREDENTIAL_FOR_\(prefix)": credential]
    }

    /// Starts it on that port.
    func start(port: Int, credentials: [String], output: URL) throws -> TestProcess {
        var environment = [
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "", "GATEHOUSE_ENVIRONMENT": "development",
            "\(prefix)_GATEWAY_CREDENTIALS": credentials.joined(separator: ","),
        ]
        let folder = Self.examples
        switch self {
        case .swift:
            environment["\(prefix)_LISTEN_ADDRESS"] = "127.0.0.1:\(port)"
            environment["\(prefix)_ADMIN_LISTEN_ADDRESS"] = "127.0.0.1:\(try freePort())"
            let program = Self.made?.appending(path: ".build/debug/\(name)").path() ?? BuiltPrograms.path(of: "orders")
            return try TestProcess(program, ["serve"], environment: environment, output: output)
        case .python:
            let script = folder.appending(path: "python/orders.py").path()
            return try TestProcess("python3", [script, "\(port)"], environment: environment, output: output)
        case .javascript:
            let script = folder.appending(path: "javascript/orders.mjs").path()
            return try TestProcess("node", [script, "\(port)"], environment: environment, output: output)
        }
    }
}
