import Foundation
import GatehouseServiceContracts
import Testing

/// The exact JSON of every type that crosses a wire. A change here is a change of the contract.
@Suite struct JSONShapeTests {
    private let id = UUID(uuidString: "0F8FAD5B-D9CB-469F-A165-70867728950E")!
    private let other = UUID(uuidString: "7C9E6679-7425-40DE-944B-E07FC1F90AE7")!
    private let noon = Date(timeIntervalSince1970: 1_795_176_000)

    private func check<Value: Codable>(_ value: Value, _ json: String) throws {
        let written = try JSON.encode(value)
        #expect(String(decoding: written, as: UTF8.self) == json)
        let again = try JSON.encode(try JSON.decode(Value.self, from: written))
        #expect(again == written)
    }

    private var user: User {
        User(
            id: id, email: "ada@example.com", phone: "+4915112345678", displayName: "Ada", emailVerified: true,
            role: "courier", storeIds: ["s/1"], authProviders: [.apple, .password], createdAt: noon, updatedAt: noon)
    }

    private let userJSON = """
        {"authProviders":["apple","password"],"createdAt":"2026-11-20T12:00:00Z","displayName":"Ada",\
        "email":"ada@example.com","emailVerified":true,"id":"0f8fad5b-d9cb-469f-a165-70867728950e",\
        "phone":"+4915112345678","role":"courier","storeIds":["s/1"],"updatedAt":"2026-11-20T12:00:00Z"}
        """

    private let device = SessionDevice(
        installationId: "i", name: "Ada's iPhone", model: "iPhone17,1", osVersion: "19.1", appVersion: "2.0")

    private let deviceJSON = """
        {"appVersion":"2.0","installationId":"i","model":"iPhone17,1","name":"Ada's iPhone","osVersion":"19.1"}
        """

    @Test func deviceTokensAreTheAppsToCarry() throws {
        try check(SessionDevice(deviceToken: "ghdt_x"), #"{"deviceToken":"ghdt_x"}"#)
        let auth = AuthResponse(
            accessToken: "a", refreshToken: "r", expiresIn: 1, expiresAt: noon, refreshExpiresIn: 2,
            refreshExpiresAt: noon, user: user, deviceToken: "ghdt_x")
        let json = String(decoding: try JSON.encode(auth), as: UTF8.self)
        #expect(json.contains(#""deviceToken":"ghdt_x""#))
        // As every server before this one answers, and every refresh.
        var without = auth
        without.deviceToken = nil
        let older = try JSON.encode(without)
        #expect(!String(decoding: older, as: UTF8.self).contains("deviceToken"))
        #expect(try JSON.decode(AuthResponse.self, from: older) == without)
    }

    private struct Room: OpenValue {
        let rawValue: String
        static let known = [Room(rawValue: "Kitchen")]
    }

    @Test func aValueIsKnownByItsBytes() {
        #expect(Room(rawValue: "Kitchen").isKnown)
        // With a Kelvin sign, which is another name.
        #expect(!Room(rawValue: "\u{212A}itchen").isKnown)
    }

    /// What a newer version has added is kept, and the rest of the answer is read.
    @Test func valuesOfTomorrowAreReadAndKept() throws {
        func keeps<Value: Codable>(_ type: Value.Type, _ json: String) throws -> Value {
            let value = try JSON.decode(type, from: Data(json.utf8))
            #expect(String(decoding: try JSON.encode(value), as: UTF8.self) == json)
            return value
        }
        let user = try keeps(User.self, userJSON.replacing(#""password""#, with: #""passkey""#))
        #expect(user.authProviders == [.apple, AuthProvider(rawValue: "passkey")])
        #expect(user.authProviders.map(\.isKnown) == [true, false])
        let device = try keeps(
            Device.self,
            """
            {"bundleId":"a","createdAt":"2026-11-20T12:00:00Z","environment":"staging",\
            "id":"0f8fad5b-d9cb-469f-a165-70867728950e","kind":"widgets","status":"sleeping",\
            "updatedAt":"2026-11-20T12:00:00Z"}
            """)
        #expect(!device.environment.isKnown && !device.kind.isKnown && !device.status.isKnown)
        let page = try keeps(
            RevocationPage.self,
            """
            {"cursor":"7","entries":[{"accessExpiresAt":"2026-11-20T12:00:00Z","reason":"riskFound",\
            "revokedAt":"2026-11-20T12:00:00Z","sessionID":"0f8fad5b-d9cb-469f-a165-70867728950e",\
            "userID":"0f8fad5b-d9cb-469f-a165-70867728950e"}],"more":false,"reset":false}
            """)
        #expect(page.entries.first?.reason.rawValue == "riskFound")
        _ = try keeps(RevokeSessionsRequest.self, #"{"reason":"riskFound"}"#)
        // A code that a reader does not know: the answer is read, and the status decides.
        let problem = try keeps(
            ProblemDocument.self,
            #"{"code":"REGION_CLOSED","detail":"d","requestId":"r","status":403,"title":"t","type":"about:blank"}"#)
        #expect(problem.problem == nil)
        #expect(throws: DecodingError.self) { try JSON.decode([PushKind].self, from: Data("[7]".utf8)) }
    }

    @Test func users() throws {
        try check(user, userJSON)
        try check(
            User(id: id, role: "user", authProviders: [.password], createdAt: noon),
            """
            {"authProviders":["password"],"createdAt":"2026-11-20T12:00:00Z","emailVerified":false,\
            "id":"0f8fad5b-d9cb-469f-a165-70867728950e","role":"user","storeIds":[]}
            """)
    }

    @Test func authResponses() throws {
        let response = AuthResponse(
            accessToken: "a.b.c", refreshToken: "ghrt_x", expiresIn: 3600, expiresAt: noon, refreshExpiresIn: 60,
            refreshExpiresAt: noon, user: user)
        let json = """
            {"accessToken":"a.b.c","expiresAt":"2026-11-20T12:00:00Z","expiresIn":3600,\
            "refreshExpiresAt":"2026-11-20T12:00:00Z","refreshExpiresIn":60,"refreshToken":"ghrt_x",\
            "tokenType":"Bearer","user":\(userJSON)}
            """
        try check(response, json)
    }

    @Test func sessions() throws {
        let session = Session(
            id: id, current: true, createdAt: noon, lastUsedAt: noon, expiresAt: noon, device: device,
            ipAddress: "203.0.113.7")
        try check(
            SessionList(sessions: [session]),
            """
            {"sessions":[{"createdAt":"2026-11-20T12:00:00Z","current":true,"device":\(deviceJSON),\
            "expiresAt":"2026-11-20T12:00:00Z","id":"0f8fad5b-d9cb-469f-a165-70867728950e",\
            "ipAddress":"203.0.113.7","lastUsedAt":"2026-11-20T12:00:00Z"}]}
            """)
        try check(
            Session(id: id, current: false, createdAt: noon, lastUsedAt: noon, expiresAt: noon),
            """
            {"createdAt":"2026-11-20T12:00:00Z","current":false,"expiresAt":"2026-11-20T12:00:00Z",\
            "id":"0f8fad5b-d9cb-469f-a165-70867728950e","lastUsedAt":"2026-11-20T12:00:00Z"}
            """)
    }

    @Test func devices() throws {
        let device = Device(
            id: id, installationId: "i", environment: .sandbox, bundleId: "com.example.app", kind: .liveactivity,
            activity: "order-7", attributesType: "DeliveryAttributes", status: .invalid, locale: "de_DE",
            timeZone: "Europe/Berlin", appVersion: "2.0", alertsAllowed: true, createdAt: noon, updatedAt: noon)
        let json = """
            {"activity":"order-7","alertsAllowed":true,"appVersion":"2.0","attributesType":"DeliveryAttributes",\
            "bundleId":"com.example.app","createdAt":"2026-11-20T12:00:00Z",\
            "environment":"sandbox","id":"0f8fad5b-d9cb-469f-a165-70867728950e","installationId":"i",\
            "kind":"liveactivity","locale":"de_DE","status":"invalid","timeZone":"Europe/Berlin",\
            "updatedAt":"2026-11-20T12:00:00Z"}
            """
        try check(DeviceList(devices: [device]), #"{"devices":[\#(json)]}"#)
        try check(
            Registration(
                token: "00ff", environment: .production, bundleId: "com.example.app", installationId: "i",
                kind: .voip, locale: "de_DE", timeZone: "Europe/Berlin", appVersion: "2.0", osVersion: "19.1",
                model: "iPhone17,1", alertsAllowed: false),
            """
            {"alertsAllowed":false,"appVersion":"2.0","bundleId":"com.example.app","environment":"production","installationId":"i",\
            "kind":"voip","locale":"de_DE","model":"iPhone17,1","osVersion":"19.1","timeZone":"Europe/Berlin",\
            "token":"00ff"}
            """)
        try check(
            Registration(token: "00ff", environment: .sandbox, bundleId: "b"),
            #"{"bundleId":"b","environment":"sandbox","token":"00ff"}"#)
    }

    @Test func signIns() throws {
        try check(
            AppleSignInRequest(
                identityToken: "t", authorizationCode: "c", nonce: "n",
                fullName: .init(givenName: "Ada", familyName: "Lovelace"), email: "a@b.c", device: device),
            """
            {"authorizationCode":"c","device":\(deviceJSON),"email":"a@b.c",\
            "fullName":{"familyName":"Lovelace","givenName":"Ada"},"identityToken":"t","nonce":"n"}
            """)
        try check(AppleSignInRequest(identityToken: "t"), #"{"identityToken":"t"}"#)
        try check(AppleNonceResponse(nonce: "n", expiresIn: 600), #"{"expiresIn":600,"nonce":"n"}"#)
        try check(
            RegisterRequest(identifier: "a@b.c", password: "p", displayName: "Ada", device: device),
            #"{"device":\#(deviceJSON),"displayName":"Ada","identifier":"a@b.c","password":"p"}"#)
        try check(LoginRequest(identifier: "a@b.c", password: "p"), #"{"identifier":"a@b.c","password":"p"}"#)
        try check(UpdateUserRequest(displayName: "Ada"), #"{"displayName":"Ada"}"#)
    }

    @Test func sessionRequests() throws {
        try check(RefreshRequest(refreshToken: "r"), #"{"refreshToken":"r"}"#)
        try check(LogoutRequest(), "{}")
        try check(LogoutRequest(refreshToken: "r"), #"{"refreshToken":"r"}"#)
        try check(LogoutAllRequest(exceptCurrent: true), #"{"exceptCurrent":true}"#)
        try check(
            CreateSessionRequest(
                sessionID: other, snapshot: UserSnapshot(user: user, version: 7), credentialsVersion: 3,
                signInAge: 0.25, device: device, ipAddress: "203.0.113.7"),
            """
            {"credentialsVersion":3,"device":\(deviceJSON),"ipAddress":"203.0.113.7",\
            "sessionID":"7c9e6679-7425-40de-944b-e07fc1f90ae7","signInAge":0.25,\
            "snapshot":{"user":\(userJSON),"version":7}}
            """)
        try check(
            CreateSessionRequest(
                sessionID: other, snapshot: UserSnapshot(user: user, version: 7), credentialsVersion: 3,
                signInAge: 0.25, authenticationMethods: [.oneTimeCode, .textMessage]),
            """
            {"authenticationMethods":["otp","sms"],"credentialsVersion":3,\
            "sessionID":"7c9e6679-7425-40de-944b-e07fc1f90ae7","signInAge":0.25,\
            "snapshot":{"user":\(userJSON),"version":7}}
            """)
        try check(
            RenewAuthenticationRequest(userID: id, methods: [.password, .apple]),
            #"{"methods":["pwd","apple"],"userID":"0f8fad5b-d9cb-469f-a165-70867728950e"}"#)
        try check(ReauthenticateRequest(password: "p"), #"{"password":"p"}"#)
        try check(
            ReauthenticateRequest(identityToken: "t", nonce: "n"), #"{"identityToken":"t","nonce":"n"}"#)
        try check(
            RevokeSessionsRequest(exceptSession: other, belowCredentialsVersion: 4, reason: .passwordChanged),
            """
            {"belowCredentialsVersion":4,"exceptSession":"7C9E6679-7425-40DE-944B-E07FC1F90AE7",\
            "reason":"passwordChanged"}
            """)
        try check(RevokeSessionsRequest(reason: .accountDeleted), #"{"reason":"accountDeleted"}"#)
    }

    @Test func revocationsForVerifiers() throws {
        let id = try #require(UUID(uuidString: "00010203-0405-0607-0809-0a0b0c0d0e0f"))
        let entry = AccessRevocationPage.Entry(sessionID: id, accessExpiresAt: 1_700_000_000, age: 1.5)
        let page = AccessRevocationPage(entries: [entry], cursor: "c", reset: false, more: true)
        let text = #"{"cursor":"c","more":true,"reset":false,"sessions":"AAECAwQFBgcICQoLDA0ODwAAAABlU/EAAAAF3A=="}"#
        #expect(String(decoding: try JSON.encode(page), as: UTF8.self) == text)
        #expect(try JSON.decode(AccessRevocationPage.self, from: Data(text.utf8)).entries == [entry])
        for other in ["AAEC", "!"] {
            let page = try JSON.decode(
                AccessRevocationPage.self,
                from: Data(#"{"cursor":"c","more":true,"reset":false,"sessions":"\#(other)"}"#.utf8))
            #expect(page.entries == nil)
        }
        for expiry in [-1, 253_402_300_800, Int64.max] {
            let entry = AccessRevocationPage.Entry(sessionID: id, accessExpiresAt: expiry, age: 0)
            #expect(AccessRevocationPage(entries: [entry], cursor: "c", reset: false, more: true).entries == nil)
        }
    }

    @Test func revocations() throws {
        try check(
            RevocationPage(
                entries: [
                    .init(
                        sessionID: id, userID: other, revokedAt: noon, age: 0.25, accessExpiresAt: noon, reason: .replay
                    )
                ], cursor: "c", reset: false, more: true),
            """
            {"cursor":"c","entries":[{"accessExpiresAt":"2026-11-20T12:00:00Z","age":0.25,"reason":"replay",\
            "revokedAt":"2026-11-20T12:00:00Z","sessionID":"0f8fad5b-d9cb-469f-a165-70867728950e",\
            "userID":"7c9e6679-7425-40de-944b-e07fc1f90ae7"}],"more":true,"reset":false}
            """)
    }

    @Test func signingKeys() throws {
        try check(
            SigningKeyList(keys: [.init(kid: "k", state: .active, since: noon), .init(kid: "l", state: .next)]),
            """
            {"keys":[{"kid":"k","since":"2026-11-20T12:00:00Z","state":"active"},{"kid":"l","state":"next"}]}
            """)
        let page = Data(#"{"keys":[{"kid":"k","state":"asleep"}]}"#.utf8)
        #expect(try JSON.decode(SigningKeyList.self, from: page).keys[0].state.isKnown == false)
    }

    @Test func problems() throws {
        try check(
            ProblemDocument(.invalid("device.name", "This must be a text."), requestID: "r"),
            """
            {"code":"INVALID_REQUEST","detail":"Some of the input is not valid.",\
            "errors":[{"field":"device.name","message":"This must be a text."}],"requestId":"r","status":400,\
            "title":"Invalid request","type":"about:blank"}
            """)
        try check(
            ProblemDocument(Problem(.notFound, "No."), requestID: "r"),
            """
            {"code":"NOT_FOUND","detail":"No.","requestId":"r","status":404,"title":"Not found","type":"about:blank"}
            """)
    }

    @Test func timesAreReadWithoutFractions() throws {
        struct Time: Codable { var at: Date }
        #expect(try JSON.decode(Time.self, from: Data(#"{"at":"2026-11-20T12:00:00Z"}"#.utf8)).at == noon)
        // A fraction is cut off when it is written: clients read with a decoder that knows none.
        let written = try JSON.encode(Time(at: noon.addingTimeInterval(0.75)))
        #expect(String(decoding: written, as: UTF8.self) == #"{"at":"2026-11-20T12:00:00Z"}"#)
    }
}
