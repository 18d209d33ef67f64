import ArgumentParser
import Foundation

/// What `--data` names: JSON itself, `@FILE`, or `-` for standard input.
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

    /// - Parameter isJSON: whether it is sent as JSON; then it has to be.
    func read(isJSON: Bool, from console: Console) async throws(CommandFailure) -> Data {
        let data = try await bytes(from: console)
        guard !isJSON || JSONLayout.indented(data) != nil else {
            throw CommandFailure(
                .invalidInput, "The data is no JSON.",
                details: ["For anything else name its type: --header 'Content-Type: text/plain'"])
        }
        return data
    }

    private func bytes(from console: Console) async throws(CommandFailure) -> Data {
        switch self {
        case .inline(let text): return Data(text.utf8)
        case .file(let path):
            do {
                return try await Terminal.apart { try Data(contentsOf: URL(fileURLWithPath: path)) }
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
