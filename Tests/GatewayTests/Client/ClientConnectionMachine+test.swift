@testable import GatewayService

extension ClientTimes {
    /// Times that are told apart by their size.
    static let test: ClientTimes = {
        var settings = GatewaySettings()
        settings.idleTimeout = .nanoseconds(1000)
        settings.overLimitTimeout = .nanoseconds(50)
        settings.headTimeout = .nanoseconds(300)
        settings.keyTimeout = .nanoseconds(200)
        settings.queueTimeout = .nanoseconds(200)
        settings.bufferingTime = .nanoseconds(100)
        settings.streamTimeout = .nanoseconds(5000)
        settings.lingerTimeout = .nanoseconds(20)
        settings.longestLinger = .nanoseconds(100)
        settings.minimumResponseRate = 1_000_000_000
        settings.responseTimeout = .nanoseconds(10_000)
        return ClientTimes(settings)
    }()
}

extension ClientConnectionMachine {
    /// A connection that waits for its first request since 0.
    static func opened(isOverLimit: Bool = false, carriesOneRequest: Bool = false) -> ClientConnectionMachine {
        var state = ClientConnectionMachine(times: .test, carriesOneRequest: carriesOneRequest)
        state.open(isPrepared: true, isOverLimit: isOverLimit, at: 0)
        return state
    }

    /// A connection with a request that an upstream has to respond to by 500.
    static func forwarding(
        hasBody: Bool = false, expectsContinue: Bool = false, closes: Bool = false, isOverLimit: Bool = false
    ) -> ClientConnectionMachine {
        var state = opened(isOverLimit: isOverLimit)
        state.forward(hasBody: hasBody, expectsContinue: expectsContinue, closes: closes, until: 500)
        return state
    }

    /// What the connection does at `now`, with `waiting` bytes that the client has not taken.
    mutating func timedOut(
        waiting: Int = 0, isWritable: Bool = true, hasInput: Bool = false, hasResponse: Bool = false,
        isUndelivered: Bool = false, at now: Int64
    ) -> AtDeadline {
        let isFast = update(unsentBytes: waiting, at: now)
        return timedOut(
            isFast: isFast, isWritable: isWritable, hasInput: hasInput, hasResponse: hasResponse,
            isUndelivered: { isUndelivered }, at: now)
    }
}
