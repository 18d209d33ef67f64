import Foundation
import GatehouseServiceContracts
import GatehouseSettings

/// The templates of pushes, from a folder that has a folder for each template, with a file for each locale:
/// `order-shipped/en.json`.
struct PushTemplates: Sendable, Equatable {
    static let maximumTemplates = 1000

    private(set) var templates: [String: PushTemplate] = [:]

    init() {}

    init(_ templates: [String: PushTemplate]) {
        self.templates = templates
    }

    /// Reads the folder that the settings name. Each file that is wrong is a problem.
    init(settings: Settings) {
        let folder = settings.optionalPath(
            "pushTemplatesDirectory",
            """
            folder of the templates of pushes: in each a folder by its name, with a payload for each locale such as \
            `en.json`. Texts have placeholders such as `{{number}}`. Read at the start
            """)
        let text = settings.string(
            "pushFallbackLocale", default: "en", "locale that each template has, for devices of other languages")
        let fallback = LanguageTag.normalized(text).lowercased()
        if !LanguageTag.isValid(fallback) { settings.problem("pushFallbackLocale", "must be a language tag") }
        guard let folder else { return }
        do throws(InvalidTemplate) {
            let names = try Self.entries(of: folder)
            guard names.count <= Self.maximumTemplates else {
                throw InvalidTemplate(description: "has more than \(Self.maximumTemplates) templates")
            }
            for name in names {
                templates[name] = try Self.template(name, in: folder, fallback: fallback) {
                    settings.problem("pushTemplatesDirectory", "names a folder in which \($0)")
                }
            }
        } catch {
            settings.problem("pushTemplatesDirectory", "names a folder that \(error.description)")
        }
    }

    /// - Parameter report: is told what is wrong with each file.
    /// - Returns: `nil` for a template with a wrong file.
    private static func template(
        _ name: String, in folder: String, fallback: String, report: (String) -> Void
    ) throws(InvalidTemplate) -> PushTemplate? {
        var localizations: [String: PushTemplate.Localization] = [:]
        var isGood = PushTemplate.isName(name)
        if !isGood { report("\(name) has other characters than letters, digits, - and _") }
        for file in try entries(of: "\(folder)/\(name)") {
            do throws(InvalidTemplate) {
                let (locale, localization) = try localization(file, in: "\(folder)/\(name)")
                guard localizations.updateValue(localization, forKey: locale) == nil else {
                    throw InvalidTemplate(description: "is there twice")
                }
            } catch {
                isGood = false
                report("\(name)/\(file) \(error.description)")
            }
        }
        guard isGood else { return nil }
        do throws(InvalidTemplate) {
            return try PushTemplate(localizations, fallback: fallback)
        } catch {
            report("\(name) \(error.description)")
            return nil
        }
    }

    private static func localization(
        _ file: String, in folder: String
    ) throws(InvalidTemplate) -> (locale: String, PushTemplate.Localization) {
        let locale = LanguageTag.normalized(file).lowercased()
        guard file.hasSuffix(".json"), LanguageTag.isValid(locale), locale.utf8.count + 5 == file.utf8.count else {
            throw InvalidTemplate(description: "must be a language tag and .json")
        }
        guard let bytes = FileManager.default.contents(atPath: "\(folder)/\(file)") else {
            throw InvalidTemplate(description: "cannot be read")
        }
        guard bytes.count <= PushTemplate.maximumFile else {
            throw InvalidTemplate(description: "has more than \(PushTemplate.maximumFile) bytes")
        }
        return (locale, try PushTemplate.Localization(Array(bytes)))
    }

    /// Without hidden ones: Kubernetes keeps versions of a mounted folder in them.
    private static func entries(of folder: String) throws(InvalidTemplate) -> [String] {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            throw InvalidTemplate(description: "cannot be read: \(folder)")
        }
        return names.filter { !$0.hasPrefix(".") }.sorted()
    }
}
