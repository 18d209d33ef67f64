import Foundation
import TestKit
import Testing

struct CopiedProgramTests {
    @Test func theProgramNeedsNoOtherFile() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        let profile = folder.appending(path: ".config/gatehouse/default")
        try FileManager.default.createDirectory(at: profile, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(#"{"url":"http://127.0.0.1:1","installationID":"\#(UUID())"}"#.utf8)
            .write(to: profile.appending(path: "profile.json"))
        let (program, output) = (folder.appending(path: "gatehouse"), folder.appending(path: "output"))
        try FileManager.default.copyItem(atPath: BuiltPrograms.path(of: "gatehouse"), toPath: program.path)
        let process = try TestProcess(program.path, ["me"], environment: ["HOME": folder.path], output: output)
        #expect(await process.waitForExit() != 0)
        // A message of the library, whose translations are files beside the program.
        let printed = try String(contentsOf: output, encoding: .utf8)
        #expect(printed.contains("Please sign in to continue."), "\(printed)")
    }
}
