import Foundation
import GatehouseBytes
import GatehouseServiceContracts

/// A payload of a push: the caller's, or a template's in one locale.
struct LocalizedPayload: Sendable, Equatable {
    /// Language tag in lower case; `nil` for the caller's.
    var locale: String?
    var content: JSONValue
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
    var hasInput = false
    /// Seconds since 1970. The system drops an update without it.
    var hasTimestamp = false

    static let timestampRule = "Must have aps.timestamp: a number of seconds since 1970."

    init(_ payload: JSONValue) {
        guard let aps = payload.aps else { return }
        func text(_ name: VerbatimString) -> String? { if case .string(let text) = aps[name] { text } else { nil } }
        event = text("event").flatMap(Event.init(rawValue:))
        attributesType = text("attributes-type")
        hasInput = aps["input-push-token"] != nil || aps["input-push-channel"] != nil
        hasTimestamp = aps["timestamp"]?.double.map { $0 > 0 } ?? false
    }
}

extension JSONValue {
    /// Apple's part of a payload; `nil` if it is no object.
    fileprivate var aps: [VerbatimString: JSONValue]? {
        guard case .object(let members) = self, case .object(let aps) = members["aps"] else { return nil }
        return aps
    }
}

/// The checks of payloads. `report` is told each field that is wrong, and what it must be.
enum PayloadRules {
    /// Bytes of a template's payloads in all locales, which are kept with the push.
    static let maximumBytes = 131_072
    /// Bytes of a payload as a caller writes it. `\u0041` becomes one byte, so a longer one fits in no form.
    static let maximumRawBytes = 6 * PushChannelRules.maximumPayload
    /// Arguments without a placeholder that are named.
    private static let maximumNamed = 20

    // MARK: - Size

    /// - Throws: for a payload that is too large for each push type.
    static func checkRawSize(_ payload: [UInt8]) throws(InvalidPush) {
        guard payload.count > maximumRawBytes else { return }
        let largest = PushChannelRules.maximumPayload
        throw InvalidPush(
            fields: [
                .init(name: "payload", message: "Must be at most \(largest) bytes, and has \(payload.count).")
            ])
    }

    /// The payload byte for byte, if it fits, and otherwise with the characters of its `\u` escapes as UTF-8.
    static func fit(_ payload: [UInt8], into maximum: Int) -> [UInt8] {
        payload.count <= maximum ? payload : writingEscapesAsUTF8(payload)
    }

    /// A JSON text in which `\u` escapes are written as UTF-8, but quotation marks, backslashes, control characters and
    /// halves of surrogate pairs stay as they are.
    static func writingEscapesAsUTF8(_ json: [UInt8]) -> [UInt8] {
        var written: [UInt8] = []
        written.reserveCapacity(json.count)
        var rest = json[...]
        while let byte = rest.first {
            guard byte == UInt8(ascii: "\\") else {
                written.append(byte)
                rest = rest.dropFirst()
                continue
            }
            if let (scalar, length) = escapedScalar(rest) {
                written += UTF8.encode(scalar)!
                rest = rest.dropFirst(length)
            } else {
                // Whole, so that the second backslash of two begins no escape.
                written += rest.prefix(2)
                rest = rest.dropFirst(2)
            }
        }
        return written
    }

    /// The character of an escape at the beginning of a text, if it may be written as UTF-8, and the escape's length.
    private static func escapedScalar(_ text: ArraySlice<UInt8>) -> (scalar: Unicode.Scalar, length: Int)? {
        guard let unit = codeUnit(text) else { return nil }
        if let scalar = Unicode.Scalar(unit) {
            let isKept = scalar == "\"" || scalar == "\\" || scalar.properties.generalCategory == .control
            return isKept ? nil : (scalar, 6)
        }
        guard (0xD800...0xDBFF).contains(unit), let low = codeUnit(text.dropFirst(6)), (0xDC00...0xDFFF).contains(low)
        else { return nil }
        return Unicode.Scalar(0x10000 + UInt32(unit - 0xD800) << 10 + UInt32(low - 0xDC00)).map { ($0, 12) }
    }

    /// The code unit of an escape `\uXXXX` at the beginning of a text.
    private static func codeUnit(_ text: ArraySlice<UInt8>) -> UInt16? {
        guard text.starts(with: Array("\\u".utf8)) else { return nil }
        let digits = text.dropFirst(2).prefix(4).compactMap { Hexadecimal.value($0) }
        return digits.count == 4 ? digits.reduce(0) { $0 << 4 | UInt16($1) } : nil
    }

    // MARK: - Payloads

    /// The payloads of a push, that of the fallback locale first.
    ///
    /// - Parameter bytes: of the request's `payload`.
    static func payloads(
        of request: PushRequest, bytes: [UInt8], templates: PushTemplates, report: (String, String) -> Void
    ) -> [LocalizedPayload] {
        switch (request.payload, request.template) {
        case (let content?, nil):
            return [LocalizedPayload(content: content, bytes: fit(bytes, into: request.pushType.maximumPayload))]
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
            if type == .background {
                // Apple accepts others, and delivers none.
                check(isBackground(payload.content), "Must have aps.content-available: 1, for the type background.")
            }
            guard type == .liveactivity else { continue }
            let content = LiveActivityContent(payload.content)
            check(content.event != nil, "Must have aps.event: start, update or end.")
            check(content.hasTimestamp, LiveActivityContent.timestampRule)
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

    /// Apple, "Pushing background updates to your App".
    private static func isBackground(_ payload: JSONValue) -> Bool {
        payload.aps?["content-available"]?.double == 1
    }

    private static func mustHaveAtMost(_ bytes: Int) -> String { "Must be at most \(bytes) bytes for this push type." }
}
