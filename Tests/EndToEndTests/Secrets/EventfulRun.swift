import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

/// Users who do all that users do, and thieves, and faults; with every secret that passed hands.
struct EventfulRun {
    let system: GatehouseSystem
    var secrets = SecretSearch()
    /// Values that are no secrets: the search has to find them.
    var known = SecretSearch()

    private static let newPassword = "a new one for the thief to guess"

    private var journey: Journey { system.journey }

    init(_ system: GatehouseSystem) { self.system = system }

    /// What the processes were configured with.
    mutating func takeSettings() throws {
        for (name, value) in system.settings {
            if name.hasSuffix("_FILE"), !name.hasSuffix("_LOG_FILE") { try secrets.add(keyFile: value) }
            if name.hasSuffix("_CREDENTIALS") || name.hasSuffix("_SECRET") { secrets.add("\(name)", value.utf8) }
        }
        for (service, url) in system.databases {
            secrets.add("password of role \(service)", (URL(string: url)?.password() ?? "").utf8)
        }
        secrets.add("a password", Journey.password.utf8)
        secrets.add("a new password", Self.newPassword.utf8)
    }

    mutating func rotations() async throws {
        let email = Journey.uniqueEmail()
        known.add("an e-mail address", email.utf8)
        var session = try await journey.register(identifier: email, device: SessionDevice(name: "Phone"))
        take(session)
        known.add("a user", session.user.id.uuidString.lowercased().utf8)
        for _ in 0..<3 { session = try await refresh(session) }
        try await race(session)
        session = try await refresh(session)
        // The answer was lost, and the client comes back after the retry window.
        let late = try await refresh(session)
        try await system.age(session, by: 61)
        let again = try await refresh(session)
        #expect(again.refreshToken == late.refreshToken)
        // A thief presents an old one.
        _ = try await refresh(again)
        try await system.age(session, by: 61)
        #expect(try await journey.refresh(session.refreshToken).code == "INVALID_REFRESH_TOKEN")
        // And the owner is back.
        _ = try await login(email, Journey.password)
    }

    mutating func accounts() async throws {
        let phone = Journey.uniquePhone()
        var session = try await journey.register(identifier: phone)
        take(session)
        session = try await login(phone, Journey.password)
        let registration = journey.registration()
        secrets.add("a push token", registration.token.utf8)
        let digits = Array(registration.token)
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(digits[$0...$0 + 1]), radix: 16)
        }
        secrets.add("a push token's bytes", bytes)
        let registered = try await journey.api.call(
            "POST", "/v1/devices/register", bearer: session.accessToken, json: registration)
        #expect(registered.status == 200, "\(registered.text)")
        let verified = try await journey.api.call(
            "POST", "/v1/auth/reauthenticate", bearer: session.accessToken,
            json: ReauthenticateRequest(password: Journey.password))
        #expect(verified.status == 204, "\(verified.text)")
        let changed = try await journey.api.call(
            "POST", "/v1/auth/password", bearer: session.accessToken,
            json: ChangePasswordRequest(currentPassword: Journey.password, newPassword: Self.newPassword))
        #expect(changed.status == 204, "\(changed.text)")
        let other = try await login(phone, Self.newPassword)
        let out = try await journey.api.call(
            "POST", "/v1/auth/logout", json: LogoutRequest(refreshToken: session.refreshToken))
        #expect(out.status == 204, "\(out.text)")
        let all = try await journey.api.call("POST", "/v1/auth/logout-all", bearer: other.accessToken, body: nil)
        #expect(all.status == 204, "\(all.text)")
    }

    /// One link is used, after an attempt with it at a wrong route. Another link is never used.
    mutating func forgottenPasswords() async throws {
        let email = Journey.uniqueEmail()
        take(try await journey.register(identifier: email))
        let token = try await forget(email)
        #expect(try await journey.refresh(token).status == 401)
        let json = ["Content-Type": "application/json"]
        for body in [#"{"token":"\#(token)"}"#, #"{"token":["\#(token)"],"newPassword":"\#(Self.newPassword)"}"#] {
            let refused = try await journey.api.call(
                "POST", "/v1/auth/password/reset", headers: json, body: Data(body.utf8))
            #expect(refused.status == 400, "\(refused.text)")
        }
        for status in [204, 400] {
            let reset = try await journey.api.call(
                "POST", "/v1/auth/password/reset",
                json: ResetPasswordRequest(token: token, newPassword: Self.newPassword))
            #expect(reset.status == status, "\(reset.text)")
        }
        _ = try await login(email, Self.newPassword)
        _ = try await forget(email)
    }

    /// One link is opened, after it was tried where it does not belong, and another never is.
    mutating func codes() async throws {
        for isOpened in [true, false] {
            let email = Journey.uniqueEmail()
            let asked = try await journey.api.call(
                "POST", "/v1/auth/code", json: CodeRequest(identifier: email, purpose: .signIn)
            ).decode(CodeResponse.self)
            let message = try await system.messages.message(to: email)
            let token = String(try #require(message.firstMatch(of: /ghlt_[A-Za-z0-9_-]+/)).0)
            secrets.add("a link's token", token.utf8)
            #expect(try await journey.refresh(token).status == 401)
            guard isOpened else { continue }
            for request in [UUID().uuidString, asked.codeRequest] {
                let answer = try await journey.api.call(
                    "POST", "/v1/auth/code/verify",
                    json: VerifyCodeRequest(codeRequest: request, linkToken: token))
                #expect(answer.status == (request == asked.codeRequest ? 200 : 401), "\(answer.text)")
                if answer.status == 200 { take(try answer.decode(AuthResponse.self)) }
            }
        }
    }

    /// The change of a verified address is undone, after the token was tried where it does not belong.
    mutating func changedIdentifiers() async throws {
        let (old, new) = (Journey.uniqueEmail(), Journey.uniqueEmail())
        func ask(_ email: String, _ purpose: CodePurpose) async throws -> String {
            let asked = try await journey.api.call(
                "POST", "/v1/auth/code", json: CodeRequest(identifier: email, purpose: purpose))
            #expect(asked.status == 202, "\(asked.text)")
            return try await system.messages.code(to: email)
        }
        let signIn = VerifyCodeRequest(identifier: old, code: try await ask(old, .signIn))
        let session = try await journey.api.call("POST", "/v1/auth/code/verify", json: signIn)
            .decode(AuthResponse.self)
        take(session)
        let changed = try await journey.api.call(
            "PUT", "/v1/auth/identifiers/email", bearer: session.accessToken,
            json: ChangeIdentifierRequest(identifier: new, code: try await ask(new, .verify)))
        #expect(changed.status == 200, "\(changed.text)")
        let notice = try await system.messages.message(2, to: old)
        let token = String(try #require(notice.firstMatch(of: /ghiu_[A-Za-z0-9_-]+/)).0)
        secrets.add("a token that undoes a change", token.utf8)
        #expect(try await journey.refresh(token).status == 401)
        for status in [204, 400] {
            let undone = try await journey.api.call(
                "POST", "/v1/auth/identifiers/undo", json: UndoIdentifierChangeRequest(token: token))
            #expect(undone.status == status, "\(undone.text)")
        }
    }

    /// With an account that is deleted, so that the sealed token is presented to Apple.
    mutating func apple() async throws {
        struct Log: Decodable {
            struct Entry: Decodable {
                var path: String
                var parameters: [String: String]
            }
            var entries: [Entry]
        }
        let token = try await journey.appleToken(.init(email: Journey.uniqueEmail(), emailVerified: true))
        secrets.add("Apple's identity token", token.identityToken.utf8)
        secrets.add("Apple's authorization code", token.authorizationCode.utf8)
        let session = try await journey.signInWithApple(
            AppleSignInRequest(identityToken: token.identityToken, authorizationCode: token.authorizationCode))
        take(session)
        let deleted = try await journey.api.call("DELETE", "/v1/auth/account", bearer: session.accessToken, body: nil)
        #expect(deleted.status == 202, "\(deleted.text)")
        let apple = journey.apple
        try await eventually("Apple's token is revoked") {
            try await apple.get("/simulator/log").decode(Log.self).entries.contains { $0.path == "/auth/revoke" }
        }
        for entry in try await apple.get("/simulator/log").decode(Log.self).entries where entry.path == "/auth/revoke" {
            secrets.add("Apple's refresh token", try #require(entry.parameters["token"]).utf8)
        }
    }

    mutating func standardDoors() async throws {
        let session = try await journey.register()
        take(session)
        struct Answer: Decodable {
            var access_token: String
            var refresh_token: String
        }
        let api = system.gateway
        let form = ["Content-Type": "application/x-www-form-urlencoded"]
        let grant = Data("grant_type=refresh_token&refresh_token=\(session.refreshToken)".utf8)
        let answer = try await api.call("POST", "/oauth/token", headers: form, body: grant).decode(Answer.self)
        secrets.add(refreshToken: answer.refresh_token)
        secrets.add(accessToken: answer.access_token)
        let secret = try #require(system.settings["TOKENS_INTROSPECTION_CREDENTIALS"])
        let basic = Data("introspection:\(secret)".utf8).base64EncodedString()
        for token in [answer.refresh_token, answer.access_token] {
            let asked = try await system.tokensReplicas[0].call(
                "POST", "/internal/oauth/introspect", headers: form.merging(["Authorization": "Basic \(basic)"]) { $1 },
                body: Data("token=\(token)".utf8))
            #expect(asked.status == 200, "\(asked.text)")
        }
        let revoked = try await api.call(
            "POST", "/oauth/revoke", headers: form, body: Data("token=\(answer.refresh_token)".utf8))
        #expect(revoked.status == 200, "\(revoked.text)")
    }

    /// Secrets in the wrong place, which error messages might repeat.
    mutating func mistakes() async throws {
        let session = try await journey.register()
        take(session)
        let (access, refresh) = (session.accessToken, session.refreshToken)
        let api = journey.api
        #expect(try await journey.me(refresh).status == 401)
        #expect(try await journey.me(access + "x").status == 401)
        #expect(try await journey.refresh(access).status == 401)
        #expect(try await journey.refresh(refresh.dropLast() + (refresh.last == "_" ? "-" : "_")).status == 401)
        #expect(try await api.call("GET", "/v1/auth/me?access_token=\(access)", body: nil).status == 401)
        #expect(try await api.call("DELETE", "/v1/auth/sessions/\(refresh)", bearer: access, body: nil).status == 404)
        #expect(try await api.call("GET", "/v1/\(refresh)", body: nil).status == 404)
        let json = ["Content-Type": "application/json"]
        for (path, body) in [
            ("/v1/auth/refresh", #"{"refreshToken":"\#(refresh)""#),
            ("/v1/auth/refresh", #"{"refreshToken":["\#(refresh)"]}"#),
            ("/v1/auth/login", #"{"identifier":"a@example.com","password":["\#(Journey.password)"]}"#),
            ("/v1/auth/register", #"{"identifier":"\#(refresh)","password":"\#(Journey.password)"}"#),
        ] {
            #expect(try await api.call("POST", path, headers: json, body: Data(body.utf8)).status == 400, "\(path)")
        }
        for replica in system.tokensReplicas {
            let headers = ["Gatehouse-Credential": access, "Authorization": "Bearer \(refresh)"]
            #expect(try await replica.get("/internal/revocations", headers: headers).status == 403)
        }
    }

    /// What fails is logged.
    mutating func faults() async throws {
        var session = try await journey.register()
        take(session)
        await system.redis.freeze()
        session = try await refresh(session)
        await system.redis.thaw()
        await system.postgres.freeze()
        let unavailable = try await journey.refresh(session.refreshToken)
        await system.postgres.thaw()
        #expect(unavailable.code == "UNAVAILABLE", "\(unavailable.text)")
        let (journey, token) = (journey, session.refreshToken)
        try await eventually("a refresh succeeds again") { try await journey.refresh(token).status == 200 }
        _ = try await refresh(session)
    }

    // MARK: -

    private mutating func take(_ session: AuthResponse) {
        secrets.add(refreshToken: session.refreshToken)
        secrets.add(accessToken: session.accessToken)
    }

    private mutating func refresh(_ session: AuthResponse) async throws -> AuthResponse {
        let answer = try await journey.refresh(session.refreshToken)
        try #require(answer.status == 200, "\(answer.text)")
        let next = try answer.decode(AuthResponse.self)
        take(next)
        return next
    }

    private mutating func login(_ identifier: String, _ password: String) async throws -> AuthResponse {
        let answer = try await journey.api.call(
            "POST", "/v1/auth/login", json: LoginRequest(identifier: identifier, password: password))
        try #require(answer.status == 200, "\(answer.text)")
        let session = try answer.decode(AuthResponse.self)
        take(session)
        return session
    }

    /// - Returns: what the mail that follows holds.
    private mutating func forget(_ email: String) async throws -> String {
        let mail = system.mail
        let before = mail.messages(to: email).count
        let answer = try await journey.api.call(
            "POST", "/v1/auth/password/forgot", json: ForgotPasswordRequest(identifier: email))
        #expect(answer.status == 202, "\(answer.text)")
        try await eventually("the mail is sent") { mail.messages(to: email).count > before }
        let token = try #require(mail.messages(to: email).last).token
        secrets.add(resetToken: token)
        return token
    }

    /// Many clients present the same token at once, at every replica.
    private mutating func race(_ session: AuthResponse) async throws {
        let replicas = system.tokensReplicas
        let answers = try await withThrowingTaskGroup(of: AuthResponse.self) { group in
            for number in 0..<20 {
                group.addTask {
                    try await replicas[number % replicas.count].call(
                        "POST", "/v1/auth/refresh", json: RefreshRequest(refreshToken: session.refreshToken)
                    ).decode(AuthResponse.self)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for answer in answers { take(answer) }
    }
}
