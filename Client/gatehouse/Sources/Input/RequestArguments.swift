import ArgumentParser
import Foundation

/// The value of `--data`: JSON, `@FILE`, or `-` for standard input.
enum DataArgument: Sendable, Equatable, ExpressibleByArgument {
    case inline(String)
    case file(String)
    case standardInput

    init?(argument: String) {
        switch argument {
        case "-": self = .standardInput
        case let argument where argument.hasPrefix("@"):
            guard argument.utf8.count > 1 else { return nil }
            self = .file(String(argument.dropFirst()))
        default: self = .inline(argument)
        }
    }

    /// - Parameter isJSON: whether it is sent as JSON, and therefore has to be valid JSON.
    func read(isJSON: Bool, from console: Console) async throws(CommandFailure) -> Data {
        let data = try await bytes(from: console)
        guard !isJSON || JSONLayout.indented(data) != nil else {
            throw CommandFailure(
                .invalidInput, "The data is not JSON.",
                details: ["For another format give its type: --header 'Content-Type: text/plain'"])
        }
        return data
    }

    private func bytes(from console: Console) async throws(CommandFailure) -> Data {
        switch self {
        case .inline(let text): return Data(text.utf8)
        case .file(let path):
            do {
                return try await Terminal.runBlocking { try Data(contentsOf: URL(fileURLWithPath: path)) }
            } catch {
                throw CommandFailure(.noInput, "The file \(path) cannot be read.")
            }
        case .standardInput:
            do { return try await console.readInput() } catch {
                throw CommandFailure(.noInput, "Standard input cannot be read.")
            }
        }
    }
}

/// A header field of a request, as in `Accept-Language: he`.
struct HeaderArgument: Sendable, Equatable, ExpressibleByArgument {
    var name: String
    var value: String

    /// - Returns: `nil` for an invalid field (RFC 9110 §5.1, §5.5), and for fields that this client sets itself.
    init?(argument: String) {
        guard let colon = argument.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        name = String(argument[..<colon])
        value = String(argument[argument.utf8.index(after: colon)...])
        let blanks: Set<Character> = [" ", "\t"]
        value = String(value.drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed())
        guard !name.isEmpty, name.utf8.allSatisfy(Token.contains),
            value.unicodeScalars.allSatisfy({ ($0.value >= 0x20 && $0.value != 0x7F) || $0 == "\t" }),
            !Self.ours.contains(name.lowercased())
        else { return nil }
    }

    private static let ours: Set<String> = ["authorization", "content-length", "host", "transfer-encoding"]
}

/// A method, as in `GET`: a token of RFC 9110 §5.6.2.
struct MethodArgument: Sendable, Equatable, ExpressibleByArgument {
    var name: String

    init?(argument: String) {
        guard (1...32).contains(argument.utf8.count), argument.utf8.allSatisfy(Token.contains) else { return nil }
        name = argument.uppercased()
    }

    /// Whether requests with this method may have a body (RFC 9110 §9.3).
    var mayCarryData: Bool { name != "GET" && name != "HEAD" }
}

private enum Token {
    static let marks = Set("!#$%&'*+-.^_`|~".utf8)

    static func contains(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: marks.contains(byte)
        }
    }
}
