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
        let isDisabled = settings.raw(Self.otel("sdkDisabled"))?.lowercased() == "true"
        if let (name, text) = settings.first(Self.gatehouse("tracesEndpoint"), Self.otel("exporterOtlpEndpoint")),
            let address = settings.address(text, name), !isDisabled
        {
            endpoint = address
        }
        if let (name, text) = settings.first(Self.gatehouse("tracesHeaders"), Self.otel("exporterOtlpHeaders")) {
            if let read = Self.headers(in: text) {
                headers = read
            } else {
                settings.note(
                    name.description, "must be NAME=VALUE, several separated by commas, values percent-encoded")
            }
        }
        let ratio = settings.raw(Self.otel("tracesSamplerArg"))
        if let text = settings.raw(Self.gatehouse("tracesPercent")) {
            percent = Self.share(text, upTo: 100, Self.gatehouse("tracesPercent"), settings) ?? percent
        } else if let ratio {
            percent = Self.share(ratio, upTo: 1, Self.otel("tracesSamplerArg"), settings).map { $0 * 100 } ?? percent
        }
    }

    private static func gatehouse(_ key: String) -> SettingName { SettingName(service: "gatehouse", key: key) }

    private static func otel(_ key: String) -> SettingName { SettingName(service: "otel", key: key) }

    private static func share(_ text: String, upTo most: Int, _ name: SettingName, _ settings: Settings) -> Double? {
        if let share = Double(text), (0...Double(most)).contains(share) { return share }
        settings.note(name.description, "must be a number from 0 to \(most), not '\(text)'")
        return nil
    }

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
