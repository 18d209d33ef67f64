import Foundation
import Testing

@Suite("The corpus of the fuzz targets")
struct CorpusTests {
    private static func files(_ target: FuzzTarget) throws -> [URL] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Corpus/\(target.rawValue)")
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    }

    @Test("Breaks no rule", arguments: FuzzTarget.allCases)
    func corpus(_ target: FuzzTarget) throws {
        let files = try Self.files(target)
        #expect(files.count > 10)
        for file in files {
            do {
                try target.check(Array(try Data(contentsOf: file)))
            } catch let finding as Finding {
                Issue.record("\(file.lastPathComponent): \(finding)")
            }
        }
    }

    @Test("Gets through in part, so that more than refusals are looked at")
    func accepted() throws {
        let requests = try Self.files(.requestPath).filter {
            !OurReader.requests(Array(try Data(contentsOf: $0))).isEmpty
        }
        #expect(requests.count > 5)
        let tokens = try Self.files(.token).filter { TokenTarget.isGenuine(Array(try Data(contentsOf: $0))) }
        #expect(tokens.count == 1)
    }
}
