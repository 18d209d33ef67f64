import Contracts
import Foundation

/// A payload of a push: the caller's, or a template's in one locale.
struct LocalizedPayload: Sendable, Equatable {
    /// Language tag in lower case; `nil` for the caller's.
    var locale: String?
    var content: JSONContent
    /// JSON.
    var bytes: [UInt8]
}

/// The content of a Live Activity's payload. Apple, "Starting and updating Live Activities with ActivityKit push
/// notifications".
struct LiveActivityContent: Equatable {
    enum Event: String {
        case start
        case update
        case end
    }

    /// `nil` for an unknown one.
    var event: Event?
    var attributesType: String?
    /// How a started activity receives updates: by a token of its own, or over a channel.
    var hasInput: Bool

    init(_ payload: JSONContent) {
        guard case .object(let members) = payload, case .object(let aps) = members["aps"] else {
            hasInput = false
            return
        }
        func text(_ name: String) -> String? { if case .string(let text) = aps[name] { text } else { nil } }
        event = text("event").flatMap(Event.init(rawValue:))
        attributesType = text("attributes-type")
        hasInput = aps["input-push-token"] != nil || aps["input-push-channel"] != nil
    }
}

/// The checks of payloads. `report` is told each field that is wrong, and what it must be.
enum PayloadRules {
    /// Bytes of a template's payloads in all locales, which are kept with the push.
    static let maximumBytes = 131_072
    /// Arguments without a placeholder that are named.
    private static let maximumNamed = 20

    /// The payloads of a push, that of the fallback locale first.
    ///
    /// - Parameter bytes: of the request's `payload`.
    static func payloads(
        of request: PushRequest, bytes: [UInt8], templates: PushTemplates, report: (String, String) -> Void
    ) -> [LocalizedPayload] {
        switch (request.payload, request.template) {
        case (let content?, nil): return [LocalizedPayload(content: content, bytes: bytes)]
        case (nil, let template?):
            return render(template, from: templates, maximum: request.pushType.maximumPayload, report: report)
        default:
            report("payload", "A push must have a payload or a template, and not both.")
            return []
        }
    }

    private static func render(
        _ request: PushRequest.Template, from templates: PushTemplates, maximum: Int, report: (String, String) -> Void
    ) -> [LocalizedPayload] {
        guard let template = templates.templates[request.name] else {
            report("template.name", "There is no template of this name.")
            return []
        }
        let arguments = request.arguments ?? [:]
        let missing = template.placeholders.subtracting(arguments.keys)
        let surplus = Set(arguments.keys).subtracting(template.placeholders)
        for name in missing.sorted() { report("template.arguments.\(name)", "The template needs this.") }
        for name in surplus.sorted().prefix(maximumNamed) {
            report("template.arguments.\(name)", "The template has no such placeholder.")
        }
        guard missing.isEmpty, surplus.isEmpty else { return [] }
        var payloads: [LocalizedPayload] = []
        let others = template.localizations.keys.filter { $0 != template.fallback }.sorted()
        for locale in [template.fallback] + others {
            guard let localization = template.localizations[locale] else { continue }
            // Before anything large is built.
            guard localization.minimumSize(arguments) <= maximum else {
                report("template", "In \(locale): " + mustHaveAtMost(maximum))
                continue
            }
            guard let content = try? localization.render(arguments), let bytes = try? JSON.encode(content) else {
                report("template", "In \(locale): It cannot be rendered.")
                continue
            }
            payloads.append(LocalizedPayload(locale: locale, content: content, bytes: Array(bytes)))
        }
        if payloads.reduce(0, { $0 + $1.bytes.count }) > maximumBytes {
            report("template", "Must have at most \(maximumBytes) bytes in all locales together.")
        }
        return payloads
    }

    /// Checks each payload of a push.
    ///
    /// - Returns: the kind of the registrations that receive it, and the type of the Live Activities that it starts.
    static func check(
        _ payloads: [LocalizedPayload], of type: PushType, report: (String, String) -> Void
    ) -> (kind: PushKind, attributesType: String?) {
        var receivers = (kind: type.registrationKind ?? .alert, attributesType: String?.none)
        var first: LiveActivityContent?
        for payload in payloads {
            func check(_ isGood: Bool, _ message: String) {
                if isGood { return }
                report(
                    payload.locale == nil ? "payload" : "template",
                    (payload.locale.map { "In \($0): " } ?? "") + message)
            }
            check(payload.bytes.first == UInt8(ascii: "{"), "Must be a JSON object.")
            check(payload.bytes.count <= type.maximumPayload, mustHaveAtMost(type.maximumPayload))
            guard type == .liveactivity else { continue }
            let content = LiveActivityContent(payload.content)
            check(content.event != nil, "Must have aps.event: start, update or end.")
            if content.event == .start {
                receivers = (.pushtostart, content.attributesType)
                check(content.attributesType != nil, "Must have aps.attributes-type: it starts a Live Activity.")
                check(
                    content.hasInput,
                    "Must have aps.input-push-token or aps.input-push-channel: it starts a Live Activity.")
            }
            check(content == first ?? content, "Must have the same event and input as in the other locales.")
            first = first ?? content
        }
        return receivers
    }

    private static func mustHaveAtMost(_ bytes: Int) -> String { "Must be at most \(bytes) bytes for this push type." }
}
