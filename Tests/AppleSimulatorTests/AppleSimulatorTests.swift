@testable import AppleSimulator
import Foundation
import ServiceKit
import Settings
import TestKit
import Testing

/// The whole simulator, over HTTP.
@Suite struct AppleSimulatorTests {
    private struct SignIn: Decodable { var identityToken, authorizationCode, sub: String }
    private struct Log: Decodable {
        struct Entry: Decodable {
            var service, method, path: String
            var parameters: [String: String]
            var status: Int
        }
        var entries: [Entry]
    }

    private func withSimulator(
        _ body: @Sendable (TestHTTPClient) async throws -> Void
    ) async throws {
        let settings = ["APPLE_SIMULATOR_APNS_LISTEN_ADDRESS": "127.0.0.1:0"]
        try await withService(AppleSimulatorApplication.self, settings: settings) { service in
            try await body(TestHTTPClient(service.url))
        }
    }

    @Test func signsInAndExchangesTheCode() async throws {
        try await withSimulator { simulator in
            let answer = try await simulator.post(
                "/simulator/sign-in", text: #"{"email":"ada@example.com","nonce":"n"}"#)
            #expect(answer.status == 200)
            let signIn = try answer.decode(SignIn.self)
            let keys = try await simulator.get("/auth/keys")
            let claims = try verifiedClaims(IdentityTokenClaims.self, of: signIn.identityToken, keys: keys.text.utf8)
            #expect(claims.sub == signIn.sub && claims.email == "ada@example.com" && claims.nonce == "n")
            #expect(claims.aud == "com.example.app" && claims.email_verified?.value == true)

            let client = TestClient()
            let form = try client.form(
                ["grant_type": "authorization_code", "code": signIn.authorizationCode])
            let tokens = try await simulator.post("/auth/token", form: form)
            struct Tokens: Decodable {
                var access_token, refresh_token, id_token, token_type: String
                var expires_in: Int
            }
            let granted = try tokens.decode(Tokens.self)
            #expect(tokens.status == 200 && granted.token_type == "Bearer" && granted.expires_in == 3600)

            let again = try await simulator.post("/auth/token", form: form)
            #expect(again.status == 400 && again.text == #"{"error":"invalid_grant"}"#)

            let revoked = try await simulator.post(
                "/auth/revoke", form: client.form(["token": granted.refresh_token, "token_type_hint": "refresh_token"]))
            #expect(revoked.status == 200 && revoked.body.isEmpty)

            let log = try await simulator.get("/simulator/log").decode(Log.self).entries
            #expect(log.map(\.path) == ["/auth/keys", "/auth/token", "/auth/token", "/auth/revoke"])
            #expect(log.map(\.status) == [200, 200, 400, 200])
            #expect(log[3].parameters["token"] == granted.refresh_token)
            #expect(log[3].parameters["client_secret"] == nil)
        }
    }

    @Test func aSignInNeedsNoBody() async throws {
        try await withSimulator { simulator in
            let signIn = try await simulator.post("/simulator/sign-in", text: "").decode(SignIn.self)
            #expect(!signIn.sub.isEmpty)
        }
    }

    @Test func failsAsToldAndRecovers() async throws {
        try await withSimulator { simulator in
            _ = try await simulator.post("/simulator/fault", text: #"{"mode":"down"}"#)
            #expect(try await simulator.get("/auth/keys").status == 503)
            _ = try await simulator.post("/simulator/fault", text: #"{"mode":"garbage"}"#)
            let garbage = try await simulator.get("/auth/keys")
            #expect(garbage.status == 200 && garbage.text.hasPrefix("<html>"))
            _ = try await simulator.post("/simulator/fault", text: #"{"mode":"stalled"}"#)
            async let stalled = simulator.get("/auth/keys")
            try await eventually("the answer has begun") {
                try await simulator.get("/simulator/log").decode(Log.self).entries.count == 3
            }
            _ = try await simulator.post("/simulator/fault", text: #"{"mode":"none"}"#)
            #expect(try await stalled.text == "{}")
            // Ten seconds would make this test slow.
            #expect(try await simulator.post("/simulator/fault", text: #"{"mode":"slow"}"#).status == 200)
            #expect(try await simulator.post("/simulator/fault", text: #"{"mode":"none"}"#).status == 200)
            #expect(try await simulator.get("/auth/keys").text.contains(#""alg":"RS256""#))
            #expect(try await simulator.post("/simulator/fault", text: #"{"mode":"odd"}"#).status == 400)
        }
    }

    @Test func rotatesKeysAndSendsNotifications() async throws {
        try await withSimulator { simulator in
            let before = try await simulator.get("/auth/keys").text
            #expect(try await simulator.post("/simulator/rotate-keys", text: "").status == 200)
            #expect(try await simulator.get("/auth/keys").text != before)
            let answer = try await simulator.post(
                "/simulator/notification", text: #"{"type":"consent-revoked","sub":"1.2.3"}"#)
            struct Notification: Decodable { var payload: String }
            #expect(try answer.decode(Notification.self).payload.split(separator: ".").count == 3)
        }
    }

    @Test func aPersonGoesToAnotherTeam() async throws {
        struct Token: Decodable { var access_token: String }
        struct Answer: Decodable { var transfer_sub, sub, email, error: String? }
        try await withSimulator { simulator in
            let person = try await simulator.post(
                "/simulator/sign-in", text: #"{"email":"a@privaterelay.appleid.com","isPrivateEmail":true}"#
            ).decode(SignIn.self)
            var (former, recipient) = (TestClient(), TestClient())
            (former.issuer, recipient.issuer) = ("TEAM000000", "TEAM111111")
            @Sendable func ask(_ fields: [String: String], as client: TestClient) async throws -> Answer {
                let credentials = ["grant_type": "client_credentials", "scope": "user.migration"]
                let token = try await simulator.post("/auth/token", form: client.form(credentials)).decode(Token.self)
                return try await simulator.post(
                    "/auth/usermigrationinfo", form: client.form(fields), bearer: token.access_token
                ).decode(Answer.self)
            }
            let prepared = try await ask(["sub": person.sub, "target": "TEAM111111"], as: former)
            let name = try #require(prepared.transfer_sub)
            #expect(try await ask(["sub": person.sub, "target": "TEAM111111"], as: former).transfer_sub == name)
            let arrived = try await ask(["transfer_sub": name], as: recipient)
            #expect(arrived.sub != person.sub && arrived.email?.hasSuffix("@privaterelay.appleid.com") == true)
            let signIn = try await simulator.post(
                "/simulator/sign-in", text: #"{"sub":"\#(person.sub)","transferredTo":"TEAM111111"}"#
            ).decode(SignIn.self)
            #expect(signIn.sub == arrived.sub)
            // Neither team learns the other's names.
            #expect(try await ask(["transfer_sub": name], as: former).error == "invalid_request")
            #expect(try await ask(["sub": "nobody", "target": "TEAM111111"], as: former).error == "invalid_request")
            let unasked = try await simulator.post(
                "/auth/usermigrationinfo", form: recipient.form(["transfer_sub": name]), bearer: "made-up")
            #expect(unasked.text == #"{"error":"invalid_grant"}"#)
        }
    }

    @Test func tellsWhereAPNsListensAndTakesItsAnswers() async throws {
        try await withSimulator { simulator in
            struct APNs: Decodable { var port, connections, allConnections: Int }
            let port = try await simulator.get("/simulator/apns").decode(APNs.self).port
            _ = try await simulator.post(
                "/simulator/apns-answer", text: #"{"token":"00aa","status":429,"reason":"TooManyRequests"}"#)
            let client = try await HTTP2TestClient.connect(port: port)
            #expect(try await client.post("/3/device/00aa", headers: [:], body: "{}").status == "400")
            #expect(try await simulator.get("/simulator/apns").decode(APNs.self).connections == 1)
            try await client.close()
            #expect(try await simulator.get("/simulator/log").decode(Log.self).entries.map(\.service) == ["apns"])
        }
    }

    @Test func takesAPushThroughEveryRoute() async throws {
        try await withSimulator { simulator in
            struct APNs: Decodable { var port: Int }
            struct Clock: Decodable { var now: Int }
            let port = try await simulator.get("/simulator/apns").decode(APNs.self).port
            let client = try await HTTP2TestClient.connect(port: port)
            let provider = TestProvider()
            struct Key: Encodable { var teamId, keyId, publicKey: String }
            let key = try JSONEncoder().encode(
                Key(
                    teamId: provider.team, keyId: provider.keyIdentifier,
                    publicKey: provider.publicKey))
            let now = try await simulator.post("/simulator/apns-clock", text: #"{"advance":7200}"#)
                .decode(Clock.self).now
            let headers = [
                "apns-topic": "com.example.app", "authorization": try provider.authorization(issuedAt: now),
            ]
            @Sendable func push(_ token: String) async throws -> String {
                let alert = #"{"aps":{"alert":{"title":"Hello"}}}"#
                let answer = try await client.post("/3/device/\(token)", headers: headers, body: alert)
                return answer.status + " " + answer.body
            }
            _ = try await simulator.post("/simulator/apns-key", text: #"{"teamId":"T","keyId":"K"}"#)
            #expect(try await push("00aa") == #"403 {"reason":"InvalidProviderToken"}"#)
            #expect(
                try await simulator.post("/simulator/apns-key", text: String(decoding: key, as: UTF8.self)).status
                    == 204)
            #expect(try await push("00aa") == "200 ")
            _ = try await simulator.post(
                "/simulator/apns-device", text: #"{"token":"00bb","topic":"com.example.app.voip"}"#)
            #expect(try await push("00bb") == #"400 {"reason":"DeviceTokenNotForTopic"}"#)
            for text in [#"{"mode":"none"}"#, #"{"mode":"late","delay":0.01,"times":1}"#] {
                #expect(try await simulator.post("/simulator/apns-fault", text: text).status == 200)
            }
            for text in [#"{"mode":"odd"}"#, #"{"mode":"goAway","lastStreamId":2}"#] {
                #expect(try await simulator.post("/simulator/apns-fault", text: text).status == 400)
            }
            #expect(
                try await simulator.post(
                    "/simulator/apns-key", text: #"{"teamId":"T","keyId":"K","publicKey":"none"}"#
                ).status == 400)
            #expect(try await push("00cc") == "200 ")
            let pushes = try await simulator.get("/simulator/apns-pushes?after=1").decode(APNsPushLog.Page.self)
            #expect(pushes.pushes.map(\.status) == [200, 400, 200] && pushes.next == 4)
            #expect(pushes.pushes.map(\.fault) == [nil, nil, "late"])
            let phone = try await simulator.get("/simulator/phone?token=00cc")
            #expect(phone.status == 200 && phone.text.contains("<h2 dir=auto>Hello</h2>"))
            try await client.close()
        }
    }

    @Test func neverRunsInProduction() throws {
        for environment in [[:], ["GATEHOUSE_ENVIRONMENT": "production"]] {
            #expect(throws: SettingsError.self) {
                try ServiceConfiguration<AppleSimulatorApplication>.load(environment: environment)
            }
        }
        let half = ["GATEHOUSE_ENVIRONMENT": "development", "APPLE_SIMULATOR_APNS_CERTIFICATE_FILE": "/a.pem"]
        #expect(throws: SettingsError.self) {
            try ServiceConfiguration<AppleSimulatorApplication>.load(environment: half)
        }
    }
}

extension TestHTTPClient {
    fileprivate func post(
        _ path: String, form: [String: String], bearer: String? = nil
    ) async throws -> Response {
        var unreserved = CharacterSet.alphanumerics
        unreserved.insert(charactersIn: "-._~")
        let pairs = form.map { "\($0.key)=\($0.value.addingPercentEncoding(withAllowedCharacters: unreserved) ?? "")" }
        return try await post(
            path, text: pairs.joined(separator: "&"),
            headers: ["Content-Type": "application/x-www-form-urlencoded"].merging(
                bearer.map { ["Authorization": "Bearer \($0)"] } ?? [:]
            ) { $1 })
    }
}
