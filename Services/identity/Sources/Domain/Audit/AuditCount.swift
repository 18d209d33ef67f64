/// How much happened in five minutes, or in an hour.
struct AuditCount: Sendable, Equatable {
    /// When the time began, in seconds since 1970.
    var at: Int64
    var signIns = 0
    var refusals = 0
    var registrations = 0

    static func += (sum: inout AuditCount, part: AuditCount) {
        sum.signIns += part.signIns
        sum.refusals += part.refusals
        sum.registrations += part.registrations
    }

    /// All steps that began within so many seconds before `now`, added up.
    static func sum(of steps: [AuditCount], within seconds: Int64, before now: Int64) -> AuditCount {
        steps.reduce(into: AuditCount(at: now - seconds)) { sum, step in
            if step.at > now - seconds { sum += step }
        }
    }

    /// The last 24 hours of the clock, oldest first. The last one is the present hour.
    static func hours(of steps: [AuditCount], before now: Int64) -> [AuditCount] {
        let present = now / 3600
        var hours = (present - 23...present).map { AuditCount(at: $0 * 3600) }
        for step in steps {
            let place = step.at / 3600 - present + 23
            if hours.indices.contains(Int(place)) { hours[Int(place)] += step }
        }
        return hours
    }
}
