import Foundation
import GatehouseBytes
import GatehouseServiceKit
import Postgres
import Sealing

@testable import GatehouseServiceContracts
@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

extension RequestType {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let seconds: Int64 = 1_800_000_000
    private static let home = try? PhoneRegion(callingCode: "49")
    private static let device =
        #"{"installationId":"i","name":"n","model":"m","osVersion":"1","appVersion":"2","deviceToken":"t"}"#

    static let identity: [RequestType] = [
        RequestType(
            RegisterRequest.self,
            #"{"identifier":"ada@example.com","password":"correct horse","displayName":"Ada","device":\#(device)}"#
        ) { request, _ in
            let identifier = try Identifier(request.identifier, home: home)
            let password = try newPassword(request.password, of: identifier)
            return [
                identifier.value, password.text, try name(request.displayName) ?? "", try checked(request.device) ?? "",
            ]
        },
        RequestType(
            LoginRequest.self, #"{"identifier":"+49 30 123456","password":"correct horse","device":\#(device)}"#
        ) { request, _ in
            [
                try Identifier(request.identifier, home: home).value, try Password(request.password).text,
                try checked(request.device) ?? "",
            ]
        },
        RequestType(UpdateUserRequest.self, #"{"displayName":"Ada"}"#) { request, _ in
            [try name(request.displayName) ?? ""]
        },
        RequestType(
            ChangePasswordRequest.self, #"{"currentPassword":"correct horse","newPassword":"battery staple"}"#
        ) { request, _ in
            [
                try request.currentPassword.map { try Password($0).text } ?? "",
                try newPassword(request.newPassword).text,
            ]
        },
        RequestType(
            AppleSignInRequest.self,
            """
            {"identityToken":"a.b.c","authorizationCode":"c","redirectUri":"https://example.com","nonce":"n",\
            "fullName":{"givenName":"Ada","familyName":"Lovelace"},"email":"ada@example.com","device":\(device)}
            """
        ) { request, _ in
            try AppleNonceIssuer.checkLength(of: request.nonce)
            _ = JWSParts(request.identityToken)
            let name = DisplayName.fromApple(
                givenName: request.fullName?.givenName, familyName: request.fullName?.familyName)
            return [name?.value ?? "", try checked(request.device) ?? ""]
        },
        RequestType(
            ReauthenticateRequest.self, #"{"password":"correct horse","identityToken":"a.b.c","nonce":"n"}"#
        ) { request, _ in
            try AppleNonceIssuer.checkLength(of: request.nonce)
            _ = request.identityToken.flatMap(JWSParts.init)
            return [try request.password.map { try Password($0).text } ?? ""]
        },
        RequestType(LinkAppleRequest.self, #"{"identityToken":"a.b.c","nonce":"n"}"#) { request, _ in
            try AppleNonceIssuer.checkLength(of: request.nonce)
            _ = JWSParts(request.identityToken)
            return []
        },
        RequestType(
            ForgotPasswordRequest.self, #"{"identifier":"ada@example.com","device":\#(device)}"#
        ) { request, _ in
            [try Identifier(request.identifier, home: home).value, try checked(request.device) ?? ""]
        },
        RequestType(
            ResetPasswordRequest.self, #"{"token":"ghpr_a","newPassword":"battery staple"}"#
        ) { request, _ in
            [SingleUseToken.digest(of: request.token), try newPassword(request.newPassword).text]
        },
        RequestType(
            CodeRequest.self, #"{"identifier":"ada@example.com","purpose":"signIn","device":\#(device)}"#
        ) { request, _ in
            [
                try Identifier(request.identifier, home: home).value, request.purpose.rawValue,
                try checked(request.device) ?? "",
            ]
        },
        RequestType(
            VerifyCodeRequest.self,
            """
            {"identifier":"ada@example.com","code":"123 456","codeRequest":"6ba7b810-9dad-11d1-80b4-00c04fd430c8",\
            "linkToken":"ghlt_a","device":\(device)}
            """
        ) { request, _ in
            try proof(request.code, request.codeRequest, request.linkToken)
                + [try request.identifier.map { try Identifier($0, home: home).value } ?? ""]
        },
        RequestType(
            ChangeIdentifierRequest.self,
            #"{"identifier":"030 123456","code":"123456","codeRequest":"x","linkToken":"ghlt_a"}"#
        ) { request, _ in
            try proof(request.code, request.codeRequest, request.linkToken)
                + [try Identifier(request.identifier, of: .phone, home: home).value]
        },
        RequestType(UndoIdentifierChangeRequest.self, #"{"token":"ghiu_a"}"#) { request, _ in
            [SingleUseToken.digest(of: request.token)]
        },
        RequestType(
            MergeRequest.self,
            """
            {"password":"correct horse","identifier":"ada@example.com","identityToken":"a.b.c","nonce":"n",\
            "code":"123456","codeRequest":"x","linkToken":"ghlt_a","device":\(device)}
            """
        ) { request, _ in
            try proof(request.code, request.codeRequest, request.linkToken)
                + [
                    try request.identifier.map { try Identifier($0, home: home).value } ?? "",
                    try request.password.map { try Password($0).text } ?? "", try checked(request.device) ?? "",
                ]
        },
        RequestType(
            AdminCreateUserRequest.self,
            """
            {"identifier":"ada@example.com","password":"correct horse","displayName":"Ada","role":"editor",\
            "storeIds":["s1","s2"]}
            """
        ) { request, _ in
            let identifier = try Identifier(request.identifier, home: home)
            return [
                identifier.value, try request.password.map { try newPassword($0, of: identifier).text } ?? "",
                try name(request.displayName) ?? "", try request.role.map { try Role(ofOperators: $0).name } ?? "",
                try StoreList(request.storeIds ?? []).ids.map(\.value),
            ]
        },
        RequestType(
            AdminUpdateUserRequest.self, #"{"displayName":"Ada","role":"editor","storeIds":["s1"]}"#
        ) { request, _ in
            [
                try name(request.displayName) ?? "", try request.role.map { try Role(ofOperators: $0).name } ?? "",
                try StoreList(request.storeIds ?? []).ids.map(\.value),
            ]
        },
        RequestType(AdminIdentifierRequest.self, #"{"identifier":"ada@example.com"}"#) { request, _ in
            [try IdentifierPrefix(request.identifier, home: home).value, try Identifier(request.identifier).value]
        },
        RequestType(AdminMoveIdentifierRequest.self, #"{"to":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}"#) { request, _ in
            [request.to]
        },
        RequestType(BounceReport.self, #"{"identifier":"ada@example.com","status":"5.1.1"}"#) { request, _ in
            [
                try Identifier(request.identifier, home: home).value,
                try request.status.map { try BounceStatus($0).text } ?? "",
            ]
        },
        RequestType(AppleNotificationRequest.self, #"{"payload":"a.b.c"}"#) { request, _ in
            _ = JWSParts(request.payload)
            return []
        },
        // The payloads that Apple signs.
        RequestType(
            decoding: AppleIdentityClaims.self,
            [
                """
                {"iss":"https://appleid.apple.com","sub":"s","aud":"com.example.app","iat":1800000000,\
                "exp":1800003600,"nonce":"n","nonce_supported":true,"email":"ada@example.com","email_verified":"true",\
                "is_private_email":false,"transfer_sub":"t"}
                """
            ]
        ) { claims, _ in
            let policy = AppleTokenPolicy(
                issuers: AppleTokenPolicy.appleIssuers, clientIDs: ["com.example.app"], nonceRule: .optional)
            try policy.check(claims, nonce: "n", now: seconds)
            let token = VerifiedAppleToken(claims)
            return [token.issuedAt, policy.end(of: claims), token.verifiedEmail?.value ?? ""]
        },
        RequestType(
            decoding: AppleNotification.self,
            [
                """
                {"iss":"https://appleid.apple.com","aud":"com.example.app","iat":1800000000,"jti":"j",\
                "events":{"type":"consent-revoked","sub":"s","email":"ada@example.com","event_time":1799999000000}}
                """
            ]
        ) { notification, _ in
            let policy = AppleTokenPolicy(
                issuers: AppleTokenPolicy.appleIssuers, clientIDs: ["com.example.app"], nonceRule: .optional)
            guard notification.isGenuine(for: policy, now: seconds) else { throw Problem(.invalidAppleToken) }
            return [notification.happenedAt, notification.id]
        },
        // A line of an import.
        RequestType(
            decoding: UserRecord.self,
            [
                """
                {"id":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","email":"ada@example.com","emailVerified":true,\
                "phone":"+4930123456","phoneVerified":false,"displayName":"Ada","role":"editor","storeIds":["s1"],\
                "state":"active","passwordHash":"$scrypt$ln=15,r=8,p=1$c2FsdHNhbHQ$\
                MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI","apple":{"subject":"s","clientId":"c",\
                "email":"ada@example.com"},"createdAt":"2026-01-01T00:00:00Z"}
                """
            ]
        ) { record, _ in
            let user = try ImportedUser(record, home: home, registry: credentials(), now: now)
            return [user.id, user.email ?? "", user.phone ?? "", user.createdAt ?? now]
                + user.credentials.flatMap { [$0.credential.subject ?? "", $0.details] }
        },
    ]

    /// The kinds that read a line. Reading asks no database.
    private static func credentials() throws -> CredentialRegistry {
        let database = PostgresPool(configuration: try PostgresConfiguration(url: "postgres://none"))
        let sealer = Sealer(keys: .placeholder, purpose: AppleGrant.sealingPurpose)
        return CredentialRegistry(kinds: [
            PasswordCredential(passwords: PasswordStore(database: database), importKeys: .init(peppers: [])),
            AppleCredential(
                identities: AppleIdentityStore(database: database),
                grants: AppleGrantStore(database: database, sealer: sealer), isOffered: true),
        ])
    }

    private static func name(_ text: String?) throws -> String? { try text.flatMap { try DisplayName.read($0) }?.value }

    private static func checked(_ device: SessionDevice?) throws -> String? {
        guard let device = try device?.checked() else { return nil }
        _ = device.deviceToken.flatMap { KnownDeviceToken($0, keys: [], now: seconds) }
        return device.name
    }

    private static func newPassword(_ text: String, of identifier: Identifier? = nil) throws -> Password {
        let password = try Password(text)
        if let weakness = PasswordPolicy().weakness(of: password, for: identifier.map { [$0.value] } ?? []) {
            throw Problem.invalid("password", weakness)
        }
        return password
    }

    private static func proof(
        _ code: String?, _ request: String?, _ token: String?
    ) throws -> [any PostgresEncodable] {
        [
            try code.map { try OneTimeCode($0).digits } ?? "", request.flatMap(UUID.init(uuidString:)) ?? UUID(),
            token.map(SingleUseToken.digest) ?? [],
        ]
    }
}
