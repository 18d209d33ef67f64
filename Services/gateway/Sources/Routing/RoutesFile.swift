import Foundation
import GatehouseBytes
import GatehouseServiceKit
import GatehouseSettings
import Yams

/// The routes to a team's own services, from a YAML file.
struct RoutesFile {
    /// An error in the file.
    struct Problem: Error, Equatable, CustomStringConvertible {
        /// Counted from 1.
        var line: Int?
        /// The route's name, if the error is within one.
        var route: String?
        var message: String

        var description: String {
            let location = [line.map { "line \($0)" }, route.map { "route \($0)" }].compactMap { $0 }
            return (location.isEmpty ? "" : location.joined(separator: ", ") + ": ") + message
        }
    }

    private(set) var routes: [Route] = []
    /// The first line of each route, by name.
    private(set) var lines: [String: Int] = [:]
    private(set) var problems: [Problem] = []

    private let environment: [String: String]

    /// Reads the whole file and collects all errors.
    ///
    /// - Parameters:
    ///   - environment: for credentials written as `env:NAME`.
    ///   - issuers: the issuers besides Gatehouse that a route may name.
    ///   - basePaths: the base paths of Gatehouse's own API.
    ///   - hasConsole: whether the console is enabled.
    init(
        yaml: String, environment: [String: String], issuers: Set<VerbatimString> = [],
        basePaths: [String] = BuiltInRoutes.basePaths, hasConsole: Bool = true
    ) {
        self.environment = environment
        let root: Node?
        do {
            root = try Yams.compose(yaml: yaml)
        } catch {
            problems.append(Self.problem(with: error))
            return
        }
        guard let mapping = root?.mapping, let list = mapping["routes"]?.sequence else {
            problems.append(Problem(message: "has no list 'routes'"))
            return
        }
        for (key, _) in mapping where key.string != "routes" {
            problems.append(Problem(line: key.mark?.line, message: "unknown key '\(key.string ?? "")'"))
        }
        let reserved = BuiltInRoutes.reserved(basePaths, hasConsole: hasConsole).map { $0.lowercased() }
        for (index, node) in list.enumerated() {
            var reader = RouteReader(
                node, number: index + 1, environment: environment, issuers: issuers,
                reserved: reserved)
            if let route = reader.read() {
                routes.append(route)
                if let first = lines[route.name] {
                    reader.problem("the name is used in line \(first) already")
                } else {
                    lines[route.name] = node.mark?.line
                }
            }
            problems += reader.problems
        }
    }

    /// Why and where a file is not YAML. The line itself is left out, because it may hold a credential.
    private static func problem(with error: any Error) -> Problem {
        switch error as? YamlError {
        case .scanner(_, let reason, let mark, _), .parser(_, let reason, let mark, _),
            .composer(_, let reason, let mark, _):
            Problem(line: mark.line, message: "is not YAML: \(reason)")
        case .duplicatedKeysInMapping(let keys, let context):
            Problem(line: context.mark.line, message: "is not YAML: it has twice \(keys.joined(separator: ", "))")
        default: Problem(message: "is not YAML")
        }
    }
}

extension Upstream.Address {
    /// Reads `http://host:port` or `https://host:port`; `nil` if a path, query, fragment or user is added.
    init?(url text: String) {
        guard let url = URLComponents(string: text), ["http", "https"].contains(url.scheme), url.namesServer,
            let host = url.host,
            url.path.isEmpty || url.path == "/", url.query == nil, url.user == nil, url.fragment == nil
        else { return nil }
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let isSecure = url.scheme == "https"
        self.init(host: bare, port: url.port ?? (isSecure ? 443 : 80), isSecure: isSecure)
    }
}

/// Makes the route table from Gatehouse's own routes and those of the routes file, at the start and whenever the file
/// changes.
struct RoutesSource: Sendable {
    /// Why the table cannot be made: all errors.
    struct Failure: Error {
        var problems: [RoutesFile.Problem]
    }

    let builtIn: [Route]
    /// `nil`: only Gatehouse's own routes.
    let path: String?
    /// Issuers besides Gatehouse whose tokens a route may accept.
    var issuers: Set<VerbatimString> = []
    /// The base paths of Gatehouse's own API.
    var basePaths = BuiltInRoutes.basePaths
    /// Whether the console is enabled.
    var hasConsole = true
    /// Whether a file marked for development is accepted.
    var allowsDevelopment = false
    /// For credentials written as `env:NAME`.
    var environment = ProcessInfo.processInfo.environment

    func read() throws(Failure) -> RouteTable {
        var table = RouteTable()
        var problems: [RoutesFile.Problem] = []
        func add(_ route: Route, line: Int? = nil) {
            do throws(RouteTable.Conflict) {
                try table.add(route)
            } catch {
                problems.append(
                    .init(line: line, route: error.route, message: "another route has the same path \(error.pattern)"))
            }
        }
        for route in builtIn { add(route) }
        if let path {
            let file = try file(at: path)
            problems += file.problems
            for route in file.routes { add(route, line: file.lines[route.name]) }
        }
        guard problems.isEmpty else { throw Failure(problems: problems) }
        return table
    }

    private func file(at path: String) throws(Failure) -> RoutesFile {
        guard let yaml = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw Failure(problems: [.init(message: "names a file that cannot be read: \(path)")])
        }
        guard allowsDevelopment || !DevelopmentSecret.isMarked(file: yaml) else {
            throw Failure(problems: [.init(message: "names a file made for development: \(path)")])
        }
        return RoutesFile(
            yaml: yaml, environment: environment, issuers: issuers, basePaths: basePaths, hasConsole: hasConsole)
    }
}
