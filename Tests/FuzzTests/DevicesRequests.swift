import Foundation
import GatehouseBytes
import GatehouseServiceKit
import Postgres

@testable import DevicesService
@testable import GatehouseServiceContracts

extension RequestType {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let timeZones = TimeZoneDatabase(["Europe/Berlin"])

    static let devices: [RequestType] = [
        RequestType(
            Registration.self,
            """
            {"token":"00ff","environment":"production","bundleId":"com.example.app","installationId":"i1",\
            "kind":"liveactivity","activity":"a1","attributesType":"Ride","locale":"de-DE","timeZone":"Europe/Berlin",\
            "appVersion":"2.10","osVersion":"26.1","model":"iPhone18,1","alertsAllowed":true}
            """
        ) { request, _ in
            let valid = try ValidRegistration(request, timeZones: timeZones)
            let clock = valid.timeZone.flatMap(WallClock.init(zone:))
            return [
                Data(valid.token.bytes), valid.locale ?? "", clock?.time(at: now).text ?? "", valid.appVersion ?? "",
            ]
        },
        RequestType(
            PushRequest.self,
            """
            {"targets":{"users":["6ba7b810-9dad-11d1-80b4-00c04fd430c8"],\
            "sessions":["6ba7b811-9dad-41d1-80b4-00c04fd430c8"],\
            "devices":[{"user":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","device":"6ba7b812-9dad-41d1-80b4-00c04fd430c8"}]},\
            "bundleId":"com.example.app","environment":"sandbox","pushType":"alert","priority":5,"collapseId":"c",\
            "expiresAt":"2027-01-25T08:00:00Z","sendAtLocal":"2027-01-16T08:00:00","fallbackTimeZone":"Europe/Berlin",\
            "quietHours":{"from":"22:00","to":"07:00"},"capPerDay":3,"payload":{"aps":{"alert":"Hi","badge":1}},\
            "onDoubt":"repeat","urgency":"urgent","dryRun":false}
            """,
            """
            {"targets":{"segment":{"locales":["de"],"timeZones":["Europe/Berlin"],"appVersion":{"from":"2.10",\
            "below":"3"},"lastSeenSince":"2026-12-01T00:00:00Z",\
            "alertsAllowed":true,"tags":{"all":["a"],"any":["b","c"]}}},\
            "bundleId":"com.example.app","pushType":"liveactivity","sendAt":"2027-01-16T08:00:00Z",\
            "payload":{"aps":{"event":"start","attributes-type":"Ride","input-push-token":1,"timestamp":1800000000}},\
            "ratePerMinute":1000,"ignoreQuietHours":true}
            """,
            """
            {"targets":{"users":["6ba7b810-9dad-11d1-80b4-00c04fd430c8"],"activity":"a1"},\
            "bundleId":"com.example.app","pushType":"liveactivity",\
            "payload":{"aps":{"event":"update","timestamp":1800000000,"content-state":{"eta":5}}}}
            """
        ) { request, body in
            let payload = StrictJSON.bytes(ofMember: "payload", in: body) ?? []
            let push = try PushRules.validate(
                request, payload: Array(payload), of: PushCaller(name: "shop", bundleIDs: [], types: [.alert]), now: now
            )
            return stored(push)
        },
        RequestType(PushReplay.self, #"{"expiresAt":"2027-01-25T08:00:00Z"}"#) { request, _ in
            [try PushRules.validate(request, now: now)]
        },
        RequestType(
            PushChannelRequest.self,
            #"{"bundleId":"com.example.app","environment":"production","storage":"mostRecentMessage"}"#
        ) { request, _ in
            try PushChannelRules.validate(bundleID: request.bundleId, environment: request.environment)
            return [request.bundleId, request.environment.rawValue, request.storage.rawValue]
        },
        RequestType(
            PushBroadcast.self,
            """
            {"priority":5,"expiresAt":"2027-01-25T08:00:00Z","sendAt":"2027-01-16T08:00:00Z",\
            "payload":{"aps":{"event":"update","timestamp":1800000000}},"onDoubt":"drop","urgency":"bulk"}
            """
        ) { request, body in
            let payload = StrictJSON.bytes(ofMember: "payload", in: body) ?? []
            let channel = PushChannel(
                id: UUID(), channelId: "c", bundleId: "com.example.app", environment: .production,
                storage: .mostRecentMessage)
            return stored(try PushChannelRules.validate(request, payload: Array(payload), to: channel, now: now))
        },
        RequestType(UserTags.self, #"{"tags":["a","b"]}"#) { request, _ in
            guard SegmentRules.areTags(request.tags) else { throw Problem.invalid("tags", SegmentRules.tagRule) }
            return [Set(request.tags).sorted()]
        },
        RequestType(
            TestPushRequest.self, #"{"title":"T","body":"B","bundleId":"com.example.app"}"#
        ) { request, _ in
            try TestPushRules.validate(request, to: UUID(), apps: ["com.example.app"], now: now).map(stored) ?? []
        },
    ]

    /// What ``PushStore`` and the pools do with a push.
    private static func stored(_ push: ValidPush) -> [any PostgresEncodable] {
        let content = push.content
        var values: [any PostgresEncodable] = [
            content.expiresAt, content.apnsExpiration, push.sendAt ?? now, content.payload(for: "de-DE"),
            content.timing.sendAt?.text ?? "", content.timing.fallbackTimeZone ?? "",
            Int16(content.priority.rawValue), Int32(content.capPerDay ?? 0), Int32(push.ratePerMinute ?? 0),
            push.recipients.map(\.bucket.rawValue), push.recipients.map(\.id), content.activity ?? "",
            content.attributesType ?? "", content.collapseID ?? "", content.localizedPayloads.keys.sorted(),
        ]
        for zone in [nil, "Pacific/Kiritimati", "Etc/GMT+12"] {
            if let wait = content.timing.wait(in: zone, at: now) { values.append(wait.until) }
        }
        if let segment = push.segment {
            values += [
                segment.record(for: content), segment.lastSeenSince ?? now, segment.fromVersion ?? [],
                segment.belowVersion ?? [],
            ]
        }
        return values
    }
}
