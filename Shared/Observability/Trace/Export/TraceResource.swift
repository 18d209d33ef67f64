/// Which process spans come from, by OpenTelemetry's names for resources.
public struct TraceResource: Sendable, Equatable {
    /// `service.name`, as in `tokens`.
    public var service: String
    /// `service.version`
    public var version: String
    /// `service.instance.id`: another one for each process.
    public var instance: String
    /// `deployment.environment.name`
    public var environment: String

    public init(service: String, version: String, instance: String, environment: String) {
        self.service = service
        self.version = version
        self.instance = instance
        self.environment = environment
    }
}
