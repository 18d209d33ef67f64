/// The times of `GatewaySettings` that clients' connections need, in nanoseconds. All connections of an event loop
/// share one.
final class ClientTimes: Sendable {
    let idle: Int64
    let overLimit: Int64
    let head: Int64
    let keys: Int64
    let queue: Int64
    let buffering: Int64
    let stream: Int64
    let linger: Int64
    let longestLinger: Int64
    let minimumRate: MinimumRate

    init(_ settings: GatewaySettings) {
        idle = settings.idleTimeout.nanoseconds
        overLimit = settings.overLimitTimeout.nanoseconds
        head = settings.headTimeout.nanoseconds
        keys = settings.keyTimeout.nanoseconds
        queue = settings.queueTimeout.nanoseconds
        buffering = settings.bufferingTime.nanoseconds
        stream = settings.streamTimeout.nanoseconds
        linger = settings.lingerTimeout.nanoseconds
        longestLinger = settings.longestLinger.nanoseconds
        minimumRate = MinimumRate(settings)
    }
}

extension MinimumRate {
    init(_ settings: GatewaySettings) {
        self.init(bytesPerSecond: settings.minimumResponseRate, timeout: settings.responseTimeout.nanoseconds)
    }
}
