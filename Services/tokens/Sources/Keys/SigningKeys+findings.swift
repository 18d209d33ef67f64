import Foundation
import ServiceKit

extension SigningKeys {
    /// What stands in the way of a replacement that was begun, and how old the key is that signs.
    ///
    /// - Parameter accessTokenLifetime: seconds.
    func findings(at now: Date, accessTokenLifetime: TimeInterval) -> [Finding] {
        var findings: [Finding] = []
        for entry in entries {
            switch entry.state {
            case .active:
                guard let since = entry.since else {
                    findings.append(.fine("One key has signed from the beginning: \(entry.keyID)."))
                    continue
                }
                findings.append(
                    KeyAge.finding(
                        "The key that signs (\(entry.keyID))", age: now.timeIntervalSince(since), verb: "began to",
                        remedy: "Replace it: `tokens keys generate`, ten minutes later `rotate`, then `retire`."))
            case .next:
                let age = entry.since.map { now.timeIntervalSince($0) } ?? 0
                guard age > Self.forgotten else {
                    findings.append(.fine("A next key is published (\(entry.keyID))."))
                    continue
                }
                findings.append(
                    .warning(
                        "A next key has been published for \(KeyAge.days(age)) and does not sign: \(entry.keyID).",
                        remedy: "Go on: `tokens keys rotate`."))
            case .retiring:
                let lifetime = max(accessTokenLifetime, TimeInterval(entry.lifetime ?? 0))
                let age = entry.since.map { now.timeIntervalSince($0) } ?? .infinity
                guard age > lifetime + Self.forgotten else {
                    findings.append(.fine("An old key is still published, for its last tokens (\(entry.keyID))."))
                    continue
                }
                findings.append(
                    .warning(
                        "An old key is published although its last token has expired: \(entry.keyID).",
                        remedy: "Take it away: `tokens keys retire`."))
            }
        }
        return findings
    }

    /// Seconds after which a step of a replacement was forgotten rather than waited for.
    private static let forgotten: TimeInterval = 86_400
}
