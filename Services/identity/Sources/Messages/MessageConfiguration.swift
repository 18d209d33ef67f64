import Foundation
import Settings

/// Settings of messages to users.
struct MessageConfiguration: Sendable {
    /// The folder for messages that are written to files instead of being sent.
    var folder: URL?
    /// The mail server.
    var smtp: SMTPSettings?
    /// The team's endpoint for every message that Gatehouse itself does not send.
    var hook: HookSettings?
    var appName: String
    var codeLink: URL?
    var resetLink: URL?
    var undoLink: URL?
    var templates: MessageTemplates
    var budget: MessageBudget
    var callingCodes: Set<String>?

    init(settings: Settings) {
        folder = settings.optionalString("messageFolder").map { URL(filePath: $0, directoryHint: .isDirectory) }
        if folder != nil, settings.environment == .production {
            settings.problem(
                "messageFolder", "is for development alone: a reader of the folder can sign in as any user")
        }
        smtp = SMTPSettings.read(settings)
        hook = HookSettings.read(settings, url: "messageHookURL", secret: "messageHookSecret")
        appName = settings.string("appName", default: "Gatehouse")
        if appName.utf8.count > 100 || appName.unicodeScalars.contains(where: Text.isDeceptive) {
            settings.problem("appName", "must have at most 100 bytes and no invisible characters")
        }
        codeLink = Self.link("codeLinkURL", settings)
        resetLink = Self.link("resetLinkURL", settings)
        undoLink = Self.link("undoLinkURL", settings)
        templates = Self.templates(settings)
        budget = Self.budget(settings)
        callingCodes = settings.optionalString("codeTextCallingCodes").map { _ in
            Set(
                settings.strings("codeTextCallingCodes").compactMap { text in
                    settings.read("codeTextCallingCodes", from: text) { try PhoneRegion(callingCode: $0).callingCode }
                })
        }
    }

    private static func budget(_ settings: Settings) -> MessageBudget {
        func perHour(_ key: String, _ count: Int) -> Int {
            settings.int(key, default: count, in: 1...1_000_000)
        }
        let mails = perHour("codeMailsPerHour", 600)
        let texts = perHour("codeTextsPerHour", 60)
        return MessageBudget(
            mailsPerHour: mails, textsPerHour: texts,
            newMailsPerHour: perHour("codeMailsToNewPerHour", max(1, mails / 2)),
            newTextsPerHour: perHour("codeTextsToNewPerHour", max(1, texts / 2)),
            textsPerCountryPerHour: perHour("codeTextsPerCountryPerHour", 30),
            noticeMailsPerHour: perHour("noticeMailsPerHour", 600),
            noticeTextsPerHour: perHour("noticeTextsPerHour", 60),
            resetsPerHour: perHour("resetMessagesPerHour", 600))
    }

    /// The address of a link. Its token follows a `#`.
    private static func link(_ key: String, _ settings: Settings) -> URL? {
        guard settings.optionalString(key) != nil else { return nil }
        let url = settings.url(key)
        if url.fragment != nil { settings.problem(key, "must have no #, because Gatehouse appends # and the token") }
        return url
    }

    private static func templates(_ settings: Settings) -> MessageTemplates {
        guard let path = settings.optionalString("templatesFolder") else { return .builtIn }
        do {
            return try MessageTemplates.builtIn.replaced(byFilesIn: URL(filePath: path, directoryHint: .isDirectory))
        } catch let refusal as Refusal {
            settings.problem("templatesFolder", "names a folder whose file \(refusal)")
        } catch {
            settings.problem("templatesFolder", "names a folder that cannot be read: \(path)")
        }
        return .builtIn
    }
}
