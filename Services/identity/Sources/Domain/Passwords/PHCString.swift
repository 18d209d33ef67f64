import Foundation

/// A hash in the PHC string format: `$ALGORITHM$v=VERSION$NAME=VALUE,…$SALT$HASH`, the version perhaps missing.
struct PHCString: Sendable, Equatable {
    var algorithm: String
    var version: Int?
    var parameters: [String: String]
    var salt: [UInt8]
    var hash: [UInt8]

    /// `nil` when the text is something else, or says the same in another way than it has to be said.
    init?(_ text: String) {
        var fields = text.split(separator: "$", omittingEmptySubsequences: false)[...]
        guard fields.popFirst()?.isEmpty == true, let algorithm = fields.popFirst(), !algorithm.isEmpty else {
            return nil
        }
        if let field = fields.first, field.hasPrefix("v=") {
            guard let version = Int(field.dropFirst(2)) else { return nil }
            self.version = version
            fields.removeFirst()
        }
        guard fields.count == 3, let salt = Self.base64(fields[fields.startIndex + 1]),
            let hash = Self.base64(fields[fields.startIndex + 2])
        else { return nil }
        parameters = [:]
        for pair in fields[fields.startIndex].split(separator: ",", omittingEmptySubsequences: false) {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parameters.updateValue(String(parts[1]), forKey: String(parts[0])) == nil else {
                return nil
            }
        }
        self.algorithm = String(algorithm)
        self.salt = salt
        self.hash = hash
    }

    /// The numbers of these parameters, if there are these and no others besides `optional`.
    func numbers(_ names: String..., optional: Set<String> = []) -> [Int]? {
        guard Set(parameters.keys).subtracting(optional) == Set(names) else { return nil }
        let numbers = names.compactMap { parameters[$0].flatMap { Int($0) } }
        return numbers.count == names.count ? numbers : nil
    }

    /// The PHC format writes base64 without padding.
    static func base64(_ bytes: [UInt8]) -> String {
        String(Data(bytes).base64EncodedString().prefix { $0 != "=" })
    }

    static func base64(_ text: some StringProtocol) -> [UInt8]? {
        let padded = String(text) + String(repeating: "=", count: (4 - text.count % 4) % 4)
        guard let data = Data(base64Encoded: padded) else { return nil }
        let bytes = Array(data)
        return base64(bytes) == text ? bytes : nil
    }
}
