import Foundation

/// Where a password comes from: never from the command line, which other users of the machine can read and shells
/// remember.
struct PasswordInput: Sendable {
    var console: Console

    /// - Parameters:
    ///   - fromInput: the first line of standard input instead of the terminal.
    ///   - repeated: asks twice, for a password that is new.
    func read(fromInput: Bool, repeated: Bool = false) async throws(CommandFailure) -> String {
        let password: String
        if fromInput {
            password = try await firstLine()
        } else {
            password = try await ask("Password: ")
            if repeated, try await ask("Password again: ") != password {
                throw CommandFailure(.invalidInput, "The two passwords are not the same.")
            }
        }
        guard !password.isEmpty else { throw CommandFailure(.invalidInput, "The password is empty.") }
        return password
    }

    private func ask(_ text: String) async throws(CommandFailure) -> String {
        guard let answer = try await console.ask(.secret(text)) else {
            throw CommandFailure(
                .usage, "There is no terminal to ask for the password.", details: ["Use --password-stdin"])
        }
        return answer
    }

    private func firstLine() async throws(CommandFailure) -> String {
        let data: Data
        do { data = try await console.readInput() } catch {
            throw CommandFailure(.noInput, "Standard input cannot be read.")
        }
        guard let text = String(data: data.prefix { $0 != UInt8(ascii: "\n") }, encoding: .utf8) else {
            throw CommandFailure(.invalidInput, "The password on standard input is not UTF-8.")
        }
        return text.hasSuffix("\r") ? String(text.dropLast()) : text
    }
}
