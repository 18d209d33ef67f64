import TestKit

/// Which process listens where.
struct SystemPorts {
    struct Place {
        var name: String
        var program: String
        var port: Int
        var adminPort: Int

        var url: String { "http://127.0.0.1:\(port)" }
    }

    let places: [Place]
    let apnsPort: Int

    /// - Parameter tokensReplicas: how many processes serve tokens; further ones are named `tokens-2` and so on.
    init(tokensReplicas: Int) throws {
        let tokens = (1...tokensReplicas).map { ($0 == 1 ? "tokens" : "tokens-\($0)", "tokens") }
        let others = ["gateway", "identity", "devices", "apple-simulator"].map { ($0, $0) }
        places = try (tokens + others).map { name, program in
            try Place(name: name, program: program, port: freePort(), adminPort: freePort())
        }
        apnsPort = try freePort()
    }

    func url(_ name: String) -> String { place(name).url }

    func port(_ name: String) -> Int { place(name).port }

    private func place(_ name: String) -> Place {
        guard let place = places.first(where: { $0.name == name }) else {
            preconditionFailure("there is no process \(name)")
        }
        return place
    }

    var tokensURLs: [String] { places.filter { $0.program == "tokens" }.map(\.url) }
}
