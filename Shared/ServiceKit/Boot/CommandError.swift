public import ArgumentParser
import Foundation
public import Settings

/// How commands end that cannot do what they were asked: lines on standard error and an exit code.
public enum CommandError {
    /// The settings are wrong: a line for each, and `EX_CONFIG` of sysexits.h.
    public static func wrongConfiguration(_ error: SettingsError) -> ExitCode {
        write(error.description)
        return ExitCode(78)
    }

    /// Anything else: one line.
    public static func failure(_ service: String, _ error: any Error) -> ExitCode {
        write("\(service): " + String(describing: error).split(separator: "\n").joined(separator: "; "))
        return .failure
    }

    private static func write(_ text: String) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
    }
}

extension ServiceConfiguration {
    /// As ``load(environment:)`` for commands: tells what is wrong, a line for each setting.
    ///
    /// - Throws: the exit code.
    public static func loadOrExit() throws(ExitCode) -> Self {
        do {
            return try load()
        } catch {
            throw CommandError.wrongConfiguration(error)
        }
    }
}
