import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseSettings
import Testing

@testable import DevicesService

@Suite struct PushTemplateTests {
    static func template(_ files: [String: String], fallback: String = "en") throws -> PushTemplate {
        try PushTemplate(files.mapValues { try PushTemplate.Localization(Array($0.utf8)) }, fallback: fallback)
    }

    static let shipped = #"{"aps": {"alert": {"title": "Order {{number}}", "body": "{{name}}, it is on its way."}}}"#
    static let versandt = #"{"aps": {"alert": {"title": "Bestellung {{number}}"}}, "n": [1, true, null, "{{number}}"]}"#

    // MARK: - Placeholders

    @Test func placeholdersOfAllLocalesNeedArguments() throws {
        let template = try Self.template(["en": Self.shipped, "de": Self.versandt])
        #expect(template.placeholders == ["number", "name"])
        #expect(template.localizations["de"]?.placeholders == ["number": 2])
        #expect(template.localizations["de"]?.minimumSize(["number": "Grüße", "name": "x"]) == 14)
    }

    /// An argument is a text in the JSON, whatever it contains.
    @Test(
        arguments: [
            "17", "", #"","sound":"x"#, #"\"#, "\u{1}\n\u{7F}\u{2028}", "{{name}}", "}}{{", "😀é", "{{number}}",
        ])
    func anArgumentIsEscaped(_ value: String) throws {
        let localization = try PushTemplate.Localization(Array(Self.versandt.utf8))
        let bytes = Array(try JSON.encode(localization.render(["number": value])))
        let expected = JSONValue.object([
            "aps": .object(["alert": .object(["title": .string("Bestellung \(value)")])]),
            "n": .array([.integer(1), .bool(true), .null, .string(value)]),
        ])
        #expect(try StrictJSON.decode(JSONValue.self, from: bytes) == expected)
    }

    @Test(
        arguments: [
            "", "[]", "1", #"{"a": 1,}"#, #"{"a": 1, "a": 2}"#, #"{"a": "{{b"}"#, #"{"a": "{{ b }}"}"#,
            #"{"a": "{{}}"}"#, #"{"a": "{{ä}}"}"#, #"{"{{a}}": 1}"#, #"{"a": ["{{b}} {{c}"]}"#,
        ])
    func aWrongFileIsRefused(_ text: String) {
        #expect(throws: InvalidTemplate.self) { try PushTemplate.Localization(Array(text.utf8)) }
    }

    @Test func bracesAloneAreText() throws {
        let localization = try PushTemplate.Localization(Array(#"{"a": "{ } }} {{b}}}"}"#.utf8))
        #expect(try localization.render(["b": "x"]) == .object(["a": .string("{ } }} x}")]))
    }

    @Test func aTemplateHasTheFallbackLocaleAndFewOthers() throws {
        #expect(throws: InvalidTemplate.self) { try Self.template(["de": "{}"]) }
        var files = ["en": "{}"]
        for number in 1..<64 { files["a\(number)"] = "{}" }
        #expect(try Self.template(files).localizations.count == 64)
        files["b"] = "{}"
        #expect(throws: InvalidTemplate.self) { try Self.template(files) }
    }

    // MARK: - Locales

    @Test(
        arguments: [
            (nil, nil), ("", nil), ("fr", nil), ("de", "de"), ("DE-at", "de"), ("de-CH", "de-ch"), ("zh", nil),
            ("zh-Hant-TW", "zh-hant"), ("zh-Hans-CN", nil), ("en-a-b-de", "en"), ("d", nil),
        ] as [(String?, String?)])
    func theNearestLocaleIsFound(_ locale: String?, _ expected: String?) {
        let values = Dictionary(uniqueKeysWithValues: ["en", "de", "de-ch", "zh-hant"].map { ($0, $0) })
        #expect(LocaleLookup.first(for: locale, in: values) == expected)
    }

    // MARK: - Files

    /// - Parameter files: by their path.
    private func load(
        _ files: [String: String], fallback: String? = nil
    ) throws -> (templates: PushTemplates, problems: [String]) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "gatehouse-tests-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try Self.write(files, to: folder)
        var environment = ["DEVICES_PUSH_TEMPLATES_DIRECTORY": folder.path]
        environment["DEVICES_PUSH_FALLBACK_LOCALE"] = fallback
        let settings = Settings(service: "devices", environment: environment)
        let templates = PushTemplates(settings: settings)
        do { try settings.finish() } catch { return (templates, error.problems.map(\.message)) }
        return (templates, [])
    }

    static func write(_ files: [String: String], to folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (path, text) in files {
            let file = folder.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
    }

    @Test func aFolderHasAFolderForEachTemplate() throws {
        let (templates, problems) = try load(
            [
                "order-shipped/de.json": Self.versandt, "order-shipped/pt_BR.json": Self.shipped,
                "hello/de.json": "{}", ".git/x": "",
            ], fallback: "de")
        #expect(problems.isEmpty && templates.templates.keys.sorted() == ["hello", "order-shipped"])
        #expect(templates.templates["order-shipped"]?.localizations.keys.sorted() == ["de", "pt-br"])
        #expect(templates.templates["hello"]?.fallback == "de")
    }

    @Test func everyWrongFileIsNamed() throws {
        let (_, problems) = try load([
            "order/en.json": "[]", "order/de.json": #"{"a": "{{"}"#, "order/read.me": "", "order/x_.json": "{}",
            "large/en.json": #"{"a": "\#(String(repeating: "x", count: PushTemplate.maximumFile))"}"#,
            "a b/en.json": "{}", "hello/de.json": "{}", "twice/en.json": "{}", "twice/EN.json": "{}",
        ])
        for (wrong, count) in [
            ("order/en.json", 1), ("order/de.json", 1), ("order/read.me", 1), ("order/x_.json", 1),
            ("large/en.json", 1), ("a b", 1), ("hello has no file", 1), ("twice/", 1),
        ] {
            #expect(problems.count { $0.contains(wrong) } == count, "\(wrong) \(problems)")
        }
        #expect(problems.count == 8)
        #expect(try load([:]).problems.isEmpty)
        #expect(try load(["file": "x"]).problems.count == 1)
        #expect(try load([:], fallback: "a b").problems.count == 1)
    }
}
