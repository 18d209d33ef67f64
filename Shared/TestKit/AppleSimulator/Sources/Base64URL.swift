import Foundation

extension Data {
    /// RFC 4648 §5, without padding.
    init?(base64URL text: Substring) {
        let padding = String(repeating: "=", count: (4 - text.count % 4) % 4)
        self.init(
            base64Encoded: text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
                + padding)
    }

    var base64URL: String {
        base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .trimmingCharacters(in: ["="])
    }
}
