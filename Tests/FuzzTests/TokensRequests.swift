import Foundation
import GatehouseBytes
import GatehouseServiceKit
import Postgres

@testable import GatehouseServiceContracts
@testable import TokensService

extension RequestType {
    private static let user = """
        {"id":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","email":"ada@example.com","phone":"+4930123456",\
        "displayName":"Ada","emailVerified":true,"phoneVerified":false,"role":"user","storeIds":["s1"],\
        "authProviders":["password"],"createdAt":"2026-01-01T00:00:00Z","updatedAt":"2026-02-01T00:00:00Z",\
        "lostIdentifiers":["phone"],"mergeableIdentifiers":["email"]}
        """

    static let tokens: [RequestType] = [
        RequestType(
            CreateSessionRequest.self,
            """
            {"sessionID":"4eb01811-9dad-41d1-80b4-00c04fd430c8","snapshot":{"user":\(user),"version":7},\
            "credentialsVersion":3,"signInAge":1.5,"device":{"name":"n"},"ipAddress":"192.0.2.1",\
            "authenticationMethods":["password"]}
            """
        ) { request, _ in
            try InternalRoutes.check(request)
            let record = try StoredUser(request.snapshot.user)
            let clock = Date(timeIntervalSince1970: 1_800_000_000)
            return [
                record.profile, record.storeIDs, request.snapshot.version, request.credentialsVersion,
                clock.addingTimeInterval(-request.signInAge), request.snapshot.user.createdAt,
                request.snapshot.user.updatedAt ?? clock, request.device.map(PostgresJSON.init),
            ]
        },
        RequestType(UserSnapshot.self, #"{"user":\#(user),"version":7}"#) { request, _ in
            let record = try StoredUser(request.user)
            return [record.bucket.rawValue, record.profile, request.version]
        },
        RequestType(
            RenewAuthenticationRequest.self,
            #"{"userID":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","methods":["password"]}"#
        ) { request, _ in
            try InternalRoutes.check(request.methods, field: "methods")
            return [request.userID, request.methods.map(\.rawValue)]
        },
        RequestType(
            RevokeSessionsRequest.self,
            """
            {"exceptSession":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","belowCredentialsVersion":3,"reason":"logout"}
            """
        ) { request, _ in [request.exceptSession, request.belowCredentialsVersion, request.reason.rawValue] },
        RequestType(
            LiveSessions.self,
            """
            {"sessionIDs":["6ba7b810-9dad-11d1-80b4-00c04fd430c8"],"expiresAt":["2027-01-01T00:00:00Z"]}
            """
        ) { request, _ in [request.ids] + (request.expirations?.values.map { $0 as any PostgresEncodable } ?? []) },
        RequestType(RefreshRequest.self, #"{"refreshToken":"ghrt_a"}"#) { request, _ in
            RefreshToken(text: request.refreshToken).map { [Int64($0.generation)] } ?? []
        },
        RequestType(LogoutRequest.self, #"{"refreshToken":"ghrt_a"}"#) { request, _ in
            request.refreshToken.flatMap(RefreshToken.init(text:)).map { [Int64($0.generation)] } ?? []
        },
        RequestType(LogoutAllRequest.self, #"{"exceptCurrent":true}"#) { request, _ in [request.exceptCurrent] },
        // What tokens answers, as identity, devices and the gateway read it.
        RequestType(
            AuthResponse.self,
            """
            {"accessToken":"a","refreshToken":"r","expiresIn":3600,"expiresAt":"2027-01-01T00:00:00Z",\
            "refreshExpiresIn":7200,"refreshExpiresAt":"2027-01-02T00:00:00Z","tokenType":"Bearer","user":\(user)}
            """
        ) { answer, _ in [answer.expiresAt, answer.refreshExpiresAt] },
        RequestType(
            RevocationPage.self,
            """
            {"entries":[{"sessionID":"6ba7b810-9dad-11d1-80b4-00c04fd430c8",\
            "userID":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","revokedAt":"2027-01-01T00:00:00Z","age":1.5,\
            "accessExpiresAt":"2027-01-01T00:00:00Z","reason":"logout"}],"cursor":"c","reset":false,"more":false}
            """
        ) { page, _ in page.entries.flatMap { [$0.revokedAt, $0.accessExpiresAt] } },
        RequestType(
            AccessRevocationPage.self,
            """
            {"sessions":"a6e4EJ2tEdGAtADAT9QwyAAAAABrSdIAAAAAAQ==","cursor":"c","reset":false,"more":false}
            """
        ) { page, _ in page.entries?.map(\.accessExpiresAt) ?? [] },
    ]
}
