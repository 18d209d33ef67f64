package import Foundation
package import GatehouseSettings

/// Settings of messages to users.
package struct MessageConfiguration: Sendable {
    /// The folder for messages that are written to files instead of being sent.
    var folder: URL?
    /// The mail server.
    var smtp: SMTPSettings?
    /// The team's endpoint for every message that Gatehouse itself does not send.
    var hook: HookSettings?
    var appName: String
    var codeLink: URL?
    package var undoLink: URL?
    var templates: MessageTemplates
    var budget: MessageBudget
    var callingCodes: Set<String>?

    /// - Parameter templates: Gatehouse's own.
    init(settings: Settings, templates: MessageTemplates) {
        folder = settings.optionalPath(
            "messageFolder", "development only: folder for messages that no sender takes"
        ).map { URL(filePath: $0, directoryHint: .isDirectory) }
        if folder != nil, settings.environment == .production {
            settings.problem(
                "messageFolder", "is for development alone: a reader of the folder can sign in as any user")
        }
        smtp = SMTPSettings.read(settings)
        hook = HookSettings.read(
            settings, "messageHook", "endpoint for text messages, and for mail without `IDENTITY_SMTP_URL`")
        appName = settings.string("appName", default: "Gatehouse", "the app's name in messages, at most 100 bytes")
        if appName.utf8.count > 100 || appName.unicodeScalars.contains(where: Text.isDeceptive) {
            settings.problem("appName", "must have at most 100 bytes and no invisible characters")
        }
        codeLink = Self.link("codeLinkURL", "sign-in codes", settings)
        undoLink = Self.link("undoLinkURL", "notices of a changed address, to undo the change", settings)
        self.templates = Self.templates(settings, builtIn: templates)
        budget = Self.budget(settings)
        callingCodes = settings.optionalStrings(
            "codeTextCallingCodes",
            "calling codes of the countries to which text messages are sent: `49,43`. Without it, all"
        ).map { codes in
            Set(
                codes.compactMap { text in
                    settings.read("codeTextCallingCodes", from: text) { try PhoneRegion(callingCode: $0).callingCode }
                })
        }
    }

    private static func budget(_ settings: Settings) -> MessageBudget {
        func perHour(_ key: String, _ count: Int, computedAs computation: String? = nil, _ messages: String) -> Int {
            settings.int(
                key, default: count, computedAs: computation, in: 1...1_000_000, unit: "messages per hour",
                "\(messages), to all users together")
        }
        let mails = perHour("codeMailsPerHour", 600, "codes by mail")
        let texts = perHour("codeTextsPerHour", 60, "codes by text message")
        return MessageBudget(
            mailsPerHour: mails, textsPerHour: texts,
            newMailsPerHour: perHour(
                "codeMailsToNewPerHour", max(1, mails / 2), computedAs: "half of `IDENTITY_CODE_MAILS_PER_HOUR`",
                "codes by mail to addresses without an account"),
            newTextsPerHour: perHour(
                "codeTextsToNewPerHour", max(1, texts / 2), computedAs: "half of `IDENTITY_CODE_TEXTS_PER_HOUR`",
                "codes by text message to numbers without an account"),
            textsPerCountryPerHour: perHour(
                "codeTextsPerCountryPerHour", 30, "codes by text message to one country"),
            noticeMailsPerHour: perHour("noticeMailsPerHour", 600, "security notices by mail"),
            noticeTextsPerHour: perHour("noticeTextsPerHour", 60, "security notices by text message"),
            resetsPerHour: perHour("resetMessagesPerHour", 600, "password resets"))
    }

    /// The address of a link. Its token follows a `#`.
    package static func link(_ key: String, _ messages: String, _ settings: Settings) -> URL? {
        let url = settings.optionalURL(key, "target of the link in \(messages), without `#`; the token follows a `#`")
        if url?.fragment != nil { settings.problem(key, "must have no #, because Gatehouse appends # and the token") }
        return url
    }

    private static func templates(_ settings: Settings, builtIn: MessageTemplates) -> MessageTemplates {
        let path = settings.optionalPath("templatesFolder", "folder of files that replace or add templates")
        guard let path else { return builtIn }
        do {
            return try builtIn.replaced(byFilesIn: URL(filePath: path, directoryHint: .isDirectory))
        } catch let refusal as Refusal {
            settings.problem("templatesFolder", "names a folder whose file \(refusal)")
        } catch {
            settings.problem("templatesFolder", "names a folder that cannot be read: \(path)")
        }
        return builtIn
    }
}
