import Foundation
import Sealing
import TestKit
import Testing

@testable import TokensService

@Suite struct KeyGeneratorTests {
    private let generator = KeyGenerator(isForDevelopment: false)

    private func ids(_ path: String) throws -> Set<UInt8> {
        try RefreshKeyRing(file: String(contentsOfFile: path, encoding: .utf8)).ids
    }

    @Test func anIdIsNotUsedAgain() throws {
        let files = try TemporaryFiles()
        defer { files.remove() }
        let allButOne = try files.write(RefreshKeyRing.sampleFile(ids: (0...255).filter { $0 != 77 }))
        let new = try files.write("")
        try FileManager.default.removeItem(atPath: new)
        #expect(throws: KeyRingError.self) {
            try generator.writeRefreshKey(id: 5, to: new, besides: allButOne)
        }
        #expect(!FileManager.default.fileExists(atPath: new))
        #expect(try generator.writeRefreshKey(id: nil, to: new, besides: allButOne) == 77)
        #expect(try ids(new) == [77])
    }

    /// Under the same id with a new key, every token from before would be a forgery.
    @Test func withoutAFileTheIdIsByChance() throws {
        let files = try TemporaryFiles()
        defer { files.remove() }
        var seen: Set<UInt8> = []
        for _ in 0..<40 {
            let new = try files.write("")
            try FileManager.default.removeItem(atPath: new)
            seen.insert(try generator.writeRefreshKey(id: nil, to: new, besides: new))
            #expect(throws: CocoaError.self) { try generator.writeRefreshKey(id: nil, to: new, besides: nil) }
            #expect(try ids(new).count == 1, "a file that is there stays as it is")
        }
        #expect(seen.count > 5)
    }

    @Test func whenAllIdsAreTakenItSaysSo() throws {
        let files = try TemporaryFiles()
        defer { files.remove() }
        let all = try files.write(RefreshKeyRing.sampleFile(ids: Array(0...255)))
        #expect(throws: KeyRingError.self) {
            try generator.writeRefreshKey(id: nil, to: all + ".new", besides: all)
        }
    }
}
