public import Foundation

/// The programs that were built with the tests.
public enum BuiltPrograms {
    /// The folder of the built programs: beside the test bundle, unless `GATEHOUSE_TEST_BINARIES` names another one.
    public static let folder: URL = {
        if let folder = ProcessInfo.processInfo.environment["GATEHOUSE_TEST_BINARIES"] { return URL(filePath: folder) }
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
        return URL(filePath: bundle).deletingLastPathComponent()
    }()

    /// The path of a program.
    public static func path(of name: String) -> String {
        folder.appending(path: name).path
    }
}
