import Foundation
import GatehouseServiceContracts
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

@Suite struct WebhookTests {
    /// `printf '1700000000.{"events":[]}' | openssl dgst -sha256 -hmac 'a secret of theirs'`
    @Test func theSignatureIsAnHMACOverTimeAndBody() {
        let signature = HookSignature.value(
            of: Array(#"{"events":[]}"#.utf8), at: Date(timeIntervalSince1970: 1_700_000_000.7),
            secret: "a secret of theirs")
        #expect(signature == "t=1700000000,v1=750e37d1fba8588e95cc127fd20715a266c3db526f91cb8a916389f2a3c11780")
    }

    @Test func theNameHoldsNoSecret() {
        let webhook = Webhook(url: URL(string: "https://user:pass@example.com:8443/events?key=1")!, secret: "")
        #expect(webhook.name == "https://example.com:8443/events")
    }

    @Test func eachEntryOfTheAuditLogIsAnEventOrIsNot() {
        let none: Set<AuditEvent> = [
            .signInRefused, .reauthenticated, .messageRefused, .messageBounced, .appleConsentRevoked, .sessionEnded,
            .sessionsEnded, .testPushSent, .viewed,
        ]
        let events = IdentityApplication.auditEvents
        #expect(Set(events.map(\.rawValue)).count == events.count)
        for event in events {
            #expect((event.published == nil) == none.contains(event), "\(event)")
            #expect(event.published?.isKnown ?? true)
        }
        #expect(Set(events.compactMap(\.published)) == Set(AccountEventType.known))
    }

    @Test func afterAResetWhatWasDeliveredLongBeforeIsLeftOut() {
        let now = Date(timeIntervalSince1970: 1_700_000_000)
        let rules = WebhookCatchUp(through: now, retention: 30)
        #expect(rules.isWanted(now) && rules.isWanted(now.addingTimeInterval(-3600)))
        #expect(!rules.isWanted(now.addingTimeInterval(-3601)))
        #expect(WebhookCatchUp(through: nil, retention: 30).isWanted(.distantPast))
    }

    @Test func aGapIsToldWhenEventsWereRemovedThatWereNotDelivered() {
        let now = Date(timeIntervalSince1970: 1_700_000_000)
        func isGap(after days: Double, retention: Int?) -> Bool {
            WebhookCatchUp(through: now.addingTimeInterval(-days * 86_400), retention: retention).isGap(now: now)
        }
        #expect(!isGap(after: 29, retention: 30) && isGap(after: 30, retention: 30) && isGap(after: 31, retention: 30))
        #expect(!isGap(after: 1000, retention: nil))
        #expect(!WebhookCatchUp(through: nil, retention: 30).isGap(now: now))
    }
}
