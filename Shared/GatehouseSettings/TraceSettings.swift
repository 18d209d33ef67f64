public import Foundation

/// Whether a service records traces, and where it sends them: `GATEHOUSE_TRACES_ENDPOINT`, `GATEHOUSE_TRACES_HEADERS`
/// and `GATEHOUSE_TRACES_PERCENT`, or else OpenTelemetry's own variables (OpenTelemetry specification, "OTLP Exporter
/// Configuration").
public struct TraceSettings: Sendable, Equatable {
    /// The address of a collector for OTLP over HTTP, without `/v1/traces`; `nil` if no traces are recorded.
    public var endpoint: URL?
    /// Header fields of each export by name. They may contain credentials and are never logged.
    public var headers: [String: String]
    /// The recorded share of the traces that begin at the service, 0 to 100.
    public var percent: Double

    public init(endpoint: URL? = nil, headers: [String: String] = [:], percent: Double = Self.defaultPercent) {
        self.endpoint = endpoint
        self.headers = headers
        self.percent = percent
    }

    public static let defaultPercent = 1.0

    /// Reads the settings. `settings` collects their problems.
    public init(_ settings: Settings) {
        self.init()
        /// The first of two settings that has a value.
        func first(_ own: SettingDeclaration, _ standard: SettingDeclaration) -> (SettingDeclaration, String)? {
            let texts = [own, standard].map { ($0, settings.text(of: $0)) }
            return texts.lazy.compactMap { setting, text in text.map { (setting, $0) } }.first
        }
        let endpoints = first(
            SettingDeclaration(
                .gatehouse("tracesEndpoint"), .url,
                """
                collector of OTLP over HTTP, as in `http://127.0.0.1:4318`; `/v1/traces` is appended. Without it no \
                traces are recorded
                """),
            SettingDeclaration(
                Self.otel("exporterOtlpEndpoint"), .url, "used without `GATEHOUSE_TRACES_ENDPOINT`"))
        let fields = first(
            SettingDeclaration(
                .gatehouse("tracesHeaders"), .list,
                "fields of each export as `NAME=VALUE`, values percent-encoded: `Authorization=Bearer%20KEY`",
                isSecret: true),
            SettingDeclaration(
                Self.otel("exporterOtlpHeaders"), .list, "used without `GATEHOUSE_TRACES_HEADERS`", isSecret: true))
        let share = first(
            SettingDeclaration(
                .gatehouse("tracesPercent"), .number,
                "share of the traces that begin at the service. A caller with a credential has already decided",
                default: String(format: "%g", Self.defaultPercent), unit: "percent", range: 0...100),
            SettingDeclaration(
                Self.otel("tracesSamplerArg"), .number, "used without `GATEHOUSE_TRACES_PERCENT`", range: 0...1))
        let isDisabled = settings.text(
            of: SettingDeclaration(Self.otel("sdkDisabled"), .boolean, "`true`: no traces are recorded"))
        if let (setting, text) = endpoints, let address = settings.address(text, setting.name),
            isDisabled?.lowercased() != "true"
        {
            endpoint = address
        }
        if let (setting, text) = fields {
            if let read = Self.headers(in: text) {
                headers = read
            } else {
                settings.note(
                    setting.name.description, "must be NAME=VALUE, several separated by commas, values percent-encoded")
            }
        }
        if let (setting, text) = share, let range = setting.range,
            let value = settings.number(text, in: range, of: setting.name)
        {
            percent = value * 100 / Double(range.upperBound)
        }
    }

    private static func otel(_ key: String) -> SettingName { SettingName(service: "otel", key: key) }

    /// `NAME=VALUE,NAME=VALUE`, values percent-encoded.
    ///
    /// - Returns: `nil` if a name is not a token of RFC 9110, or if a value has other bytes than visible ASCII and
    ///   spaces.
    static func headers(in text: String) -> [String: String]? {
        var headers: [String: String] = [:]
        for member in text.split(separator: ",") {
            let parts = member.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            guard parts.count == 2, let value = parts[1].removingPercentEncoding, !parts[0].isEmpty,
                parts[0].utf8.allSatisfy(isTokenByte), value.utf8.allSatisfy({ (0x20...0x7e).contains($0) })
            else { return nil }
            headers[parts[0]] = value
        }
        return headers
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
