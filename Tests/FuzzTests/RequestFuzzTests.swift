import Foundation
import Testing

@Suite("Requests that were changed at random")
struct RequestFuzzTests {
    @Test("The examples are accepted", arguments: RequestType.all.map(\.name))
    func examples(_ name: String) throws {
        let type = try #require(RequestType.all.first { $0.name == name })
        for example in type.examples { #expect(try type.check(Array(example.utf8)), "\(name): \(example)") }
    }

    @Test("End no process, and store nothing that PostgreSQL refuses", arguments: RequestType.all.map(\.name))
    func mutations(_ name: String) throws {
        let type = try #require(RequestType.all.first { $0.name == name })
        var generator = SplitMix64(seed: 0x6761_7465)
        var accepted = 0
        for example in type.examples {
            let example = Array(example.utf8)
            for body in Mutation.replacements(in: example) where try type.check(body) { accepted += 1 }
            for _ in 0..<2000 where try type.check(Mutation.random(example, using: &generator)) { accepted += 1 }
        }
        // More than refusals were looked at.
        #expect(accepted > 10)
    }

    @Test("The corpus breaks no rule")
    func corpus() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Corpus")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(files.count >= RequestType.all.count)
        for file in files { try RequestType.check(Array(Data(contentsOf: file))) }
    }
}
