import Foundation
import GatehouseServiceContracts
import Testing

/// The description that the gateway publishes names the routes and codes of the source.
@Suite struct DescriptionTests {
    @Test func everyPublicRouteIsDescribedWithItsBearer() throws {
        var described = try operations(of: description("public"))
        for route in PublicRoute.all {
            let schemes = described.removeValue(forKey: "\(route.method) \(route.path)")
            let expected: [[String]] =
                switch route.bearer {
                case .none: []
                case .optional, .reported: [[], ["bearer"]]
                case .required: [["bearer"]]
                }
            #expect(schemes == expected, "\(route.method) \(route.path)")
        }
        // The gateway's own.
        let own = ["/openapi.json", "/docs", "/livez", "/readyz", "\(PublicRoute.consolePath)/settings.json"]
        #expect(Set(described.keys) == Set(own.flatMap { ["GET \($0)", "HEAD \($0)"] }))
    }

    @Test func everyCodeIsDescribedWithItsStatusAndTitle() throws {
        let components = try #require(try description("common")["components"] as? [String: Any])
        let responses = try #require(components["responses"] as? [String: [String: Any]])
        var described: [String: String] = [:]
        for response in responses.values {
            let content = response["content"] as? [String: [String: Any]]
            let example = content?["application/problem+json"]?["example"] as? [String: Any]
            guard let code = example?["code"] as? String, let status = example?["status"] as? Int,
                let title = example?["title"] as? String
            else { continue }
            described[code] = "\(status) \(title)"
        }
        let codes = ErrorCode.allCases.map { ($0.rawValue, "\($0.status) \($0.title)") }
        #expect(described == Dictionary(uniqueKeysWithValues: codes))
    }

    private func description(_ name: String) throws -> [String: Any] {
        let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
        let data = try Data(contentsOf: root.appending(path: "docs/openapi/\(name).json"))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    /// The security schemes of each operation, by `METHOD /path`.
    private func operations(of description: [String: Any]) throws -> [String: [[String]]] {
        var found: [String: [[String]]] = [:]
        for (path, item) in try #require(description["paths"] as? [String: [String: Any]]) {
            for (method, value) in item {
                guard let operation = value as? [String: Any],
                    let security = operation["security"] as? [[String: Any]]
                else { continue }
                found["\(method.uppercased()) \(path)"] = security.map { Array($0.keys) }
            }
        }
        return found
    }
}
