import Foundation
import TestKit
import Testing

struct CopiedProgramTests {
    @Test func theProgramNeedsNoOtherFile() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (program, output) = (folder.appending(path: "gatehouse"), folder.appending(path: "output"))
        try FileManager.default.copyItem(atPath: BuiltPrograms.path(of: "gatehouse"), toPath: program.path)
        let process = try TestProcess(program.path, ["me"], environment: ["HOME": folder.path], output: output)
        #expect(await process.waitForExit() != 0)
        #expect(try String(contentsOf: output, encoding: .utf8).contains("Please sign in to continue."))
    }
}
