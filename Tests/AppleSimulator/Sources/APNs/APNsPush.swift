import AccessToken
import Bytes
import Foundation

/// A request to APNs, and the checks that precede any response that a test has set.
struct APNsPush: Sendable {
    var method: String
    var path: String
    /// By name in lower case.
    var headers: [String: String]
    var body: [UInt8]

    static let pathPrefix = "/3/device/"

    var deviceToken: String? {
        path.hasPrefix(Self.pathPrefix) ? String(path.dropFirst(Self.pathPrefix.count)) : nil
    }

    /// The error of an invalid request; `nil` if it is valid.
    ///
    /// - Parameter now: seconds since 1970.
    func refusal(now: Int) -> APNsAnswer? {
        guard let deviceToken else { return .refused(404, "BadPath") }
        guard method == "POST" else { return .refused(405, "MethodNotAllowed") }
        guard let topic = headers["apns-topic"], !topic.isEmpty else { return .refused(400, "MissingTopic") }
        guard !deviceToken.isEmpty else { return .refused(400, "MissingDeviceToken") }
        guard deviceToken.allSatisfy(\.isHexDigit), deviceToken.count.isMultiple(of: 2) else {
            return .refused(400, "BadDeviceToken")
        }
        if let refusal = providerTokenRefusal(now: now) { return refusal }
        guard !body.isEmpty else { return .refused(400, "PayloadEmpty") }
        let maximum = headers["apns-push-type"] == "voip" ? 5_120 : 4_096
        guard body.count <= maximum else { return .refused(413, "PayloadTooLarge") }
        return nil
    }

    /// The provider token must be a JWT with ES256, issued within the last hour. Its signature is not checked.
    private func providerTokenRefusal(now: Int) -> APNsAnswer? {
        struct Header: Decodable { var alg, kid: String }
        struct Claims: Decodable {
            var iss: String
            var iat: Int
        }
        guard let field = headers["authorization"], field.lowercased().hasPrefix("bearer ") else {
            return .refused(403, "MissingProviderToken")
        }
        let parts = field.dropFirst("bearer ".count).split(separator: ".", omittingEmptySubsequences: false)
            .map { Base64URL.decode($0).map { Data($0) } }
        guard parts.count == 3, let header = parts[0], let body = parts[1],
            let header = try? JSONDecoder().decode(Header.self, from: header), header.alg == "ES256",
            let claims = try? JSONDecoder().decode(Claims.self, from: body)
        else { return .refused(403, "InvalidProviderToken") }
        return claims.iat < now - 3_600 ? .refused(403, "ExpiredProviderToken") : nil
    }
}
