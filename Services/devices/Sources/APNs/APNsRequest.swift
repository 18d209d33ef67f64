import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import NIOHPACK

/// Requests and responses of APNs in HTTP/2.
enum APNsRequest {
    private static let devicePath = "/3/device/"
    private static let broadcastPath = "/4/broadcasts/apps/"
    private static let maximumReasonLength = 64
    /// Milliseconds: from 1970 to the end of 9999. PostgreSQL and RFC 3339 have no other dates in common.
    private static let timestamps =
        Double(UTCTime.accepted.lowerBound * 1000)...Double(UTCTime.accepted.upperBound * 1000 + 999)
    /// Seconds. Apple names minutes.
    private static let longestRetryAfter = 86_400

    /// The header section of a request (Apple, “Sending notification requests to APNs”, “Sending broadcast push
    /// notification requests to APNs”, “Sending channel management requests to APNs”).
    ///
    /// Apple keeps a small table of fields for each connection, so `:path` and `authorization` are literals without
    /// indexing. Fields that differ from push to push are indexed once, for their names.
    static func headers(
        _ call: APNsCall, authority: String, scheme: String, provider: ProviderToken, isFirst: Bool
    ) -> HPACKHeaders {
        var headers = HPACKHeaders()
        headers.reserveCapacity(11)
        headers.add(name: ":method", value: call.method)
        headers.add(name: ":scheme", value: scheme)
        headers.add(name: ":authority", value: authority)
        headers.add(name: ":path", value: path(call), indexing: .nonIndexable)
        headers.add(name: "authorization", value: provider.authorization, indexing: .nonIndexable)
        let changing: HPACKIndexing = isFirst ? .indexable : .nonIndexable
        switch call {
        case .push(let push): add(push, to: &headers, changing)
        case .channels(let request):
            headers.add(name: "apns-request-id", value: text(request.id), indexing: changing)
            if let channelID = request.operation.channelID {
                headers.add(name: "apns-channel-id", value: channelID, indexing: .nonIndexable)
            }
            if !request.body.isEmpty { headers.add(name: "content-type", value: "application/json") }
        }
        return headers
    }

    private static func path(_ call: APNsCall) -> String {
        switch call {
        case .push(let push):
            switch push.destination {
            case .device(let token): devicePath + Hexadecimal.string(token.bytes)
            case .channel: broadcastPath + push.bundleID
            }
        case .channels(let request): request.path
        }
    }

    private static func add(_ push: RenderedPush, to headers: inout HPACKHeaders, _ changing: HPACKIndexing) {
        headers.add(name: "apns-push-type", value: push.type.rawValue)
        headers.add(name: "apns-priority", value: String(push.priority.rawValue))
        headers.add(name: "apns-expiration", value: expiration(push.expiresAt), indexing: changing)
        switch push.destination {
        case .device:
            headers.add(name: "apns-topic", value: push.topic)
            headers.add(name: "apns-id", value: text(push.id), indexing: changing)
        case .channel(let channelID):
            // The path names the app.
            headers.add(name: "apns-channel-id", value: channelID, indexing: .nonIndexable)
            headers.add(name: "apns-request-id", value: text(push.id), indexing: changing)
        }
        if let collapseID = push.collapseID {
            headers.add(name: "apns-collapse-id", value: collapseID, indexing: .nonIndexable)
        }
    }

    /// Seconds since 1970. 0 tells APNs to attempt the delivery once.
    private static func expiration(_ date: Date) -> String { String(max(0, Int(date.timeIntervalSince1970))) }

    /// The lower-case form.
    private static func text(_ id: UUID) -> String {
        let digits: StaticString = "0123456789abcdef"
        return withUnsafeBytes(of: id.uuid) { bytes in
            String(unsafeUninitializedCapacity: 36) { text in
                var end = 0
                for index in 0..<16 {
                    if index == 4 || index == 6 || index == 8 || index == 10 {
                        text[end] = UInt8(ascii: "-")
                        end += 1
                    }
                    text[end] = digits.utf8Start[Int(bytes[index] >> 4)]
                    text[end + 1] = digits.utf8Start[Int(bytes[index] & 0xF)]
                    end += 2
                }
                return end
            }
        }
    }

    static func responseFields(
        _ headers: HPACKHeaders
    ) -> (status: Int?, retryAfter: Int?, channelID: String?) {
        var status: Int?
        var retryAfter: Int?
        var channelID: String?
        for (name, value, _) in headers {
            switch name {
            case ":status": status = number(value).flatMap { (100...999).contains($0) ? $0 : nil }
            // Seconds; Apple sends no date.
            case "retry-after": retryAfter = number(value).map { min($0, longestRetryAfter) }
            case "apns-channel-id": channelID = value
            default: continue
            }
        }
        return (status, retryAfter, channelID)
    }

    /// A number of digits alone; the highest one if it is higher.
    private static func number(_ text: String) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        return Int(text) ?? .max
    }

    /// - Parameter keepsBody: whether the answer has the response's body.
    static func answer(_ response: APNsConnection.Machine.Response, keepsBody: Bool = false) -> APNsAnswer {
        var answer = APNsAnswer(status: response.status, retryAfter: response.retryAfter)
        if keepsBody {
            answer.channelID = response.channelID
            answer.body = response.body
        }
        guard response.status != 200, let body = try? JSONDecoder().decode(ErrorBody.self, from: Data(response.body))
        else { return answer }
        answer.reason = body.reason
        answer.invalidSince = body.timestamp.map { Date(timeIntervalSince1970: $0 / 1000) }
        return answer
    }

    /// The reason in the body of a response or in a GOAWAY frame.
    static func reason(of json: [UInt8]) -> String? {
        (try? JSONDecoder().decode(ErrorBody.self, from: Data(json)))?.reason
    }

    /// Reasons are compared, logged and stored, so only a short word counts as one.
    private static func checked(_ reason: String) -> String? {
        (1...maximumReasonLength).contains(reason.utf8.count)
            && reason.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit }
            ? reason : nil
    }

    /// Each field counts as absent if its value is none that Apple describes.
    private struct ErrorBody: Decodable {
        private enum CodingKeys: CodingKey {
            case reason
            case timestamp
        }

        let reason: String?
        /// Milliseconds since 1970, with a 410.
        let timestamp: Double?

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            reason = (try? fields.decode(String.self, forKey: .reason)).flatMap(APNsRequest.checked)
            let timestamp = try? fields.decode(Double.self, forKey: .timestamp)
            self.timestamp = timestamp.flatMap { APNsRequest.timestamps.contains($0) ? $0 : nil }
        }
    }
}
