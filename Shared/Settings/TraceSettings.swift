public import Foundation

/// Whether a service records traces, and where they go: `GATEHOUSE_TRACES_ENDPOINT`, `GATEHOUSE_TRACES_PERCENT`.
public struct TraceSettings: Sendable, Equatable {
    /// Where a collector takes OTLP over HTTP, without `/v1/traces`; `nil`: no trace is recorded.
    public var endpoint: URL?
    /// Of the traces that begin at the service, 0 to 100.
    public var percent: Double

    public init(endpoint: URL? = nil, percent: Double = Self.defaultPercent) {
        self.endpoint = endpoint
        self.percent = percent
    }

    public static let defaultPercent = 1.0

    /// Reads the settings; what is wrong is noted there.
    public init(_ settings: Settings) {
        let (endpoint, percent) = (
            SettingName(service: "gatehouse", key: "tracesEndpoint"),
            SettingName(service: "gatehouse", key: "tracesPercent")
        )
        self.init(endpoint: settings.raw(endpoint).flatMap { settings.address($0, endpoint) })
        guard let text = settings.raw(percent) else { return }
        if let share = Double(text), (0...100).contains(share) {
            self.percent = share
        } else {
            settings.note(percent.description, "must be a number from 0 to 100, not '\(text)'")
        }
    }
}
