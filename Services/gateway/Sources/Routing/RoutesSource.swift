import Bytes
import Foundation
import ServiceKit
import Settings

/// Where the route table comes from, at the start and whenever the file changes: Gatehouse's own routes, and those of
/// the routes file.
struct RoutesSource: Sendable {
    /// Why there is no table: all that is wrong.
    struct Failure: Error {
        var problems: [RoutesFile.Problem]
    }

    let builtIn: [Route]
    /// `nil`: Gatehouse's own routes are all there are.
    let path: String?
    /// Issuers besides Gatehouse whose tokens a route may accept.
    var issuers: Set<VerbatimString> = []
    /// Where Gatehouse's own API is.
    var basePaths = BuiltInRoutes.basePaths
    /// Whether there is a console.
    var hasConsole = true
    /// Whether a file with the mark of development will do.
    var allowsDevelopment = false
    /// Where credentials written as `env:NAME` are looked up.
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
