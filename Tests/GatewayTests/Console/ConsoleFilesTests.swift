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

    @Test("What the page and its scripts load is there, and all that is there is loaded")
    func references() throws {
        let page = try Self.text("console.html")
        var loaded = Set(page.matches(of: /(?:src|href)="\/console\/([^"]+)"/).map { String($0.1) })
        for file in ConsoleFiles.parts where file.name.hasSuffix(".js") {
            let script = try Self.text(file.name)
            let imports = script.matches(of: /\bfrom "([^"]+)"/).map { String($0.1) }
            #expect(imports.allSatisfy { $0.hasPrefix("./") }, "\(file.name)")
            loaded.formUnion(imports.map { String($0.dropFirst(2)) })
        }
        #expect(loaded == Set(ConsoleFiles.parts.map(\.name)))
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

    @Test("No other host is named", arguments: ConsoleFiles.parts.map(\.name) + ["console.html"])
    func hosts(_ name: String) throws {
        let others = try Self.text(name).matches(of: /\b[a-z]+:\/\/[^\s"'<>]+/).map { String($0.0) }
        // The name of SVG's language is no address.
        #expect(others.filter { $0 != "http://www.w3.org/2000/svg" } == [])
    }
}
