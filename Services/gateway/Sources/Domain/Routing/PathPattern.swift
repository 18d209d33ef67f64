/// The paths of a route: segments, of which some stand for any, and whether more may follow.
struct PathPattern: Sendable, Hashable, CustomStringConvertible {
    enum Segment: Sendable, Hashable {
        case literal(String)
        /// Any one segment; the name is for people.
        case parameter(String)
    }

    var segments: [Segment]
    /// Whether the pattern also covers everything below it.
    var isPrefix: Bool

    /// Reads `/v1/things/{id}`. `nil` where it is no canonical path.
    init?(_ template: String, isPrefix: Bool = false) {
        var template = template
        let filler = template.replacing("{", with: "").replacing("}", with: "")
        guard template.hasPrefix("/"), template.utf8.allSatisfy({ $0 < 128 && $0 != UInt8(ascii: "%") }),
            Array(filler.utf8).withUnsafeBytes(CanonicalPath.isCanonical)
        else { return nil }
        if isPrefix, template.hasSuffix("/") { template.removeLast() }
        segments =
            template.isEmpty
            ? []
            : template.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
                .map {
                    $0.hasPrefix("{") && $0.hasSuffix("}")
                        ? .parameter(String($0.dropFirst().dropLast())) : .literal(String($0))
                }
        for case .literal(let text) in segments where text.contains("{") || text.contains("}") { return nil }
        self.isPrefix = isPrefix
    }

    var description: String {
        "/"
            + segments.map {
                switch $0 {
                case .literal(let text): text
                case .parameter(let name): "{\(name)}"
                }
            }.joined(separator: "/") + (isPrefix ? (segments.isEmpty ? "*" : "/*") : "")
    }
}
