// Pure: no I/O, no clock.

import GatehouseBytes
import GatehouseServiceContracts

/// Finds the route of a path and method. The cost does not grow with the number of routes.
struct RouteTable: Sendable {
    enum Match {
        case route(Route, forwardedPath: Range<Int>)
        /// The path exists; `allow` is the value of the `Allow` field.
        case methodNotAllowed(allow: String)
        case notFound
    }

    private struct Node: Sendable {
        var segment: [UInt8] = []
        /// By the segment's hash.
        var literals: [UInt64: Int] = [:]
        var parameter: Int?
        var exact = Endpoint()
        var prefix = Endpoint()
    }

    private struct Endpoint: Sendable {
        var routes: [Route] = []
        var methods: MethodSet = []

        var isEmpty: Bool { routes.isEmpty }

        mutating func add(_ route: Route) -> Bool {
            guard methods.isDisjoint(with: route.methods) else { return false }
            routes.append(route)
            methods.formUnion(route.methods)
            return true
        }
    }

    /// Two routes have the same path and method.
    struct Conflict: Error, Equatable {
        var route: String
        var pattern: String
    }

    private var nodes = [Node()]
    private(set) var routes: [Route] = []

    /// The methods by path.
    var methods: [String: Set<String>] {
        routes.reduce(into: [:]) { methods, route in
            methods[route.pattern.description, default: []].formUnion(route.methods.each.map(\.description))
        }
    }

    init() {}

    init(_ routes: [Route]) throws(Conflict) {
        for route in routes { try add(route) }
    }

    mutating func add(_ route: Route) throws(Conflict) {
        var index = 0
        for segment in route.pattern.segments {
            switch segment {
            case .literal(let text): index = literal(Array(text.utf8), below: index)
            case .parameter: index = parameter(below: index)
            }
        }
        let isAdded = route.pattern.isPrefix ? nodes[index].prefix.add(route) : nodes[index].exact.add(route)
        guard isAdded else { throw Conflict(route: route.name, pattern: route.pattern.description) }
        routes.append(route)
    }

    private mutating func literal(_ segment: [UInt8], below index: Int) -> Int {
        let hash = segment.withUnsafeBytes { Self.hash($0[...]) }
        if let child = nodes[index].literals[hash] {
            precondition(nodes[child].segment == segment, "two segments of one table have the same hash")
            return child
        }
        nodes.append(Node(segment: segment))
        nodes[index].literals[hash] = nodes.count - 1
        return nodes.count - 1
    }

    private mutating func parameter(below index: Int) -> Int {
        if let child = nodes[index].parameter { return child }
        nodes.append(Node())
        nodes[index].parameter = nodes.count - 1
        return nodes.count - 1
    }

    // MARK: Matching

    /// The route for a canonical path and one method.
    ///
    /// Literal segments take precedence over parameters, whole paths over prefixes, longer prefixes over shorter ones.
    /// A path that would reach `/internal` of any upstream is not found.
    ///
    /// - Parameter method: `nil`: a method that no route can name.
    func match(path: UnsafeRawBufferPointer, method: RequestMethod?) -> Match {
        var search = Search(method: method)
        let endpoint: Endpoint
        var stripped = 0
        if let node = find(path, from: 1, at: 0, &search) {
            endpoint = nodes[node].exact
            stripped = path.count
        } else if !search.allowed.isEmpty {
            return .methodNotAllowed(allow: search.allowed.description)
        } else if let prefix = search.prefix {
            endpoint = nodes[prefix.node].prefix
            stripped = prefix.end
        } else {
            return .notFound
        }
        guard let method, endpoint.methods.contains(method) else {
            return .methodNotAllowed(allow: endpoint.methods.description)
        }
        for route in endpoint.routes where route.methods.contains(method) {
            // A pattern for the whole root strips nothing.
            let start = route.prefixReplacement == nil ? 0 : min(route.replacedLength ?? stripped, path.count)
            // The beginning of a rewritten path was verified when the routes file was read.
            let isRewritten = !(route.prefixReplacement ?? []).isEmpty
            guard isRewritten || !Self.isInternal(path, from: start) else { return .notFound }
            return .route(route, forwardedPath: start..<path.count)
        }
        return .notFound
    }

    /// The results of a search so far.
    private struct Search {
        let method: RequestMethod?
        /// Methods of the nodes that match the whole path without this method.
        var allowed: MethodSet = []
        /// The deepest prefix.
        var prefix: (node: Int, end: Int)?
    }

    /// The node that matches the whole path and has the method.
    ///
    /// - Parameters:
    ///   - start: where the segment to compare begins.
    private func find(
        _ path: UnsafeRawBufferPointer, from start: Int, at index: Int, _ search: inout Search
    ) -> Int? {
        if !nodes[index].prefix.isEmpty, search.prefix.map({ $0.end < start - 1 }) ?? true {
            search.prefix = (index, start - 1)
        }
        if start > path.count || (start == path.count && index == 0) {
            let methods = nodes[index].exact.methods
            if let method = search.method, methods.contains(method) { return index }
            search.allowed.formUnion(methods)
            return nil
        }
        var end = start
        while end < path.count, path[end] != UInt8(ascii: "/") { end += 1 }
        let segment = path[start..<end]
        if let child = nodes[index].literals[Self.hash(segment)], nodes[child].segment.elementsEqual(segment),
            let found = find(path, from: end + 1, at: child, &search)
        {
            return found
        }
        if let child = nodes[index].parameter, !segment.isEmpty {
            return find(path, from: end + 1, at: child, &search)
        }
        return nil
    }

    /// Whether the first segment is `internal`, ignoring case.
    private static func isInternal(_ path: UnsafeRawBufferPointer, from start: Int) -> Bool {
        let name: StaticString = "/internal"
        let count = name.utf8CodeUnitCount
        guard path.count - start >= count,
            path.count - start == count || path[start + count] == UInt8(ascii: "/")
        else { return false }
        return UnsafeRawBufferPointer(rebasing: path[start..<(start + count)]).equalsFolded(name)
    }

    /// FNV-1a: the keys are short, and the bytes are compared afterwards.
    private static func hash(_ bytes: Slice<UnsafeRawBufferPointer>) -> UInt64 {
        bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

/// Gatehouse's own routes, which every gateway has.
enum BuiltInRoutes {
    /// The gateway waits this much longer for a response than the service's own timeout.
    private static let leeway = Duration.milliseconds(3500)

    static let defaultOperatorRole = "operator"

    /// The base paths of Gatehouse's own API by default.
    static let basePaths = [PublicRoute.basePath, PublicRoute.alternativeBasePath]

    /// Paths that a routes file may not use, including all paths below them.
    ///
    /// - Parameters:
    ///   - basePaths: the base paths of Gatehouse's own API.
    ///   - hasConsole: whether the console is enabled.
    static func reserved(_ basePaths: [String], hasConsole: Bool = true) -> [String] {
        (Self.basePaths + basePaths).flatMap { [$0 + "/auth", $0 + "/devices", $0 + "/admin"] }
            + ["", "/api"].flatMap { base in
                ["/oauth", "/.well-known", "/livez", "/readyz", "/internal"].map { base + $0 }
            } + PublicDocument.allCases.map(\.path) + (hasConsole ? [PublicRoute.consolePath] : [])
    }

    /// - Parameters:
    ///   - upstream: the upstream of an owner's requests.
    ///   - basePaths: the base paths of the API; services see `/v1`, or `/api/v1` where the client used that.
    ///   - serviceTimeout: how long services wait for their own dependencies.
    ///   - operatorRole: the role of users who may administer others.
    ///   - hasConsole: whether the console is enabled.
    static func routes(
        _ upstream: (PublicRoute.Owner) -> Upstream, basePaths: [String] = basePaths, serviceTimeout: Duration,
        operatorRole: String = defaultOperatorRole, hasConsole: Bool = true
    ) -> [Route] {
        let timeout = serviceTimeout + leeway
        let own: [(String, Route.Target)] =
            [("/livez", .liveness), ("/readyz", .readiness)]
            + PublicDocument.allCases.map { ($0.path, .document($0)) }
            + (hasConsole ? [(consoleSettingsPath, .consoleSettings(basePath: basePaths[0]))] : [])
        return PublicRoute.all.filter { hasConsole || !$0.isConsole }.flatMap { route in
            spellings(of: route.path, basePaths).flatMap { kinds(of: $0, movedTo: $1) }.map { path, movedTo in
                // No force-unwrap fails: a test reads the path and method of every `PublicRoute.all`.
                Route(
                    name: route.path, pattern: PathPattern(path)!, methods: [RequestMethod(route.method)!],
                    authentication: route.bearer,
                    // identity verifies the current role again, because a token may be older than the role's removal.
                    roles: route.isForOperators ? [VerbatimString(operatorRole)] : [],
                    target: .upstream(upstream(route.owner)), bodyLimit: BodyLimit.bytes, timeout: timeout,
                    rewrittenPrefix: movedTo.map { _ in PublicRoute.basePath }, replacedLength: movedTo?.utf8.count,
                    isSignIn: route.guards.contains(.guesses),
                    passwords: route.guards.contains(.hashes)
                        ? .always : route.guards.contains(.mayHash) ? .optional : .never,
                    limitsRejections: route.guards.contains(.rejections), errorForm: route.errorForm)
            }
        }
            + own.map { path, target in
                Route(
                    name: path, pattern: PathPattern(path)!, methods: [.get, .head], authentication: .none,
                    target: target, bodyLimit: BodyLimit.bytes, timeout: timeout)
            }
    }

    /// The console's file with the base path of the API, which the gateway alone knows.
    static let consoleSettingsPath = PublicRoute.consolePath + "/settings.json"

    /// One path for each kind of identifier. With a parameter instead, `Allow` would list its methods for `undo` too.
    private static func kinds(of path: String, movedTo: String?) -> [(path: String, movedTo: String?)] {
        guard path.hasSuffix("/auth/identifiers/{kind}") else { return [(path, movedTo)] }
        return ["email", "phone"].map { (path.replacing("{kind}", with: $0), movedTo) }
    }

    /// The public paths of an API path, with the base path to replace before forwarding.
    private static func spellings(of path: String, _ basePaths: [String]) -> [(path: String, movedTo: String?)] {
        guard path.hasPrefix(PublicRoute.basePath + "/") else { return [(path, nil)] }
        return basePaths.map { base in
            (base + path.dropFirst(PublicRoute.basePath.count), Self.basePaths.contains(base) ? nil : base)
        }
    }
}

/// Documents about the public routes.
enum PublicDocument: String, Sendable, CaseIterable {
    /// For programs: OpenAPI 3.1.
    case openAPI = "/openapi.json"
    /// The same for readers.
    case page = "/docs"

    var path: String { rawValue }
}
