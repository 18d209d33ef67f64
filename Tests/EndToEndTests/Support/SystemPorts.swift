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

    init(tokensReplicas: Int) throws {
        let tokens = (1...tokensReplicas).map { ($0 == 1 ? "tokens" : "tokens-\($0)", "tokens") }
        let others = ["gateway", "identity", "devices", "apple-simulator"].map { ($0, $0) }
        places = try (tokens + others).map { name, program in
            try Place(name: name, program: program, port: freePort(), adminPort: freePort())
        }
        apnsPort = try freePort()
    }

    func url(_ name: String) -> String {
        places.first { $0.name == name }.map(\.url) ?? ""
    }

    var tokensURLs: [String] { places.filter { $0.program == "tokens" }.map(\.url) }
}
