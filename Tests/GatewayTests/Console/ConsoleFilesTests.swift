import Foundation
import NIOCore
import Testing

@testable import GatewayService

@Suite("The files of the console")
struct ConsoleFilesTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Services/gateway/Sources/Console/Files").standardizedFileURL

    private static func text(_ name: String) throws -> String {
        try String(contentsOf: folder.appending(path: name), encoding: .utf8)
    }

    @Test("All of the folder is built in, under its name")
    func whole() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path())
        let files = ConsoleFiles.parts + [ConsoleFiles.page]
        #expect(Set(files.map(\.name)) == Set(names) && files.count == names.count)
        for file in files {
            #expect(String(buffer: file.content) == (try Self.text(file.name)), "\(file.name)")
        }
        #expect(Set(files.map(\.entityTag)).count == files.count)
    }

    @Test("Nothing is run or styled within the page, and nothing makes markup of text")
    func inline() throws {
        let page = try Self.text("console.html")
        #expect(page.firstMatch(of: /<script(?![^>]* src=)|<style| style=| on\w+=/) == nil)
        for file in ConsoleFiles.parts where file.name.hasSuffix(".js") {
            let script = try Self.text(file.name)
            let sinks = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\.style\b|srcdoc/
            #expect(script.firstMatch(of: sinks) == nil, "\(file.name)")
        }
    }
}
