import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension HTTPURLResponse {
    /// `Retry-After`, in seconds or as a moment by the server's own clock (RFC 9110 §10.2.3).
    var retryAfter: Duration? {
        guard let text = value(forHTTPHeaderField: "Retry-After")?.trimmingCharacters(in: .whitespaces) else {
            return nil
        }
        if let seconds = Int32(text) { return seconds < 0 ? nil : .seconds(seconds) }
        // Of the device's clock nobody knows what it shows.
        guard let moment = HTTPDate.read(text), let now = value(forHTTPHeaderField: "Date").flatMap(HTTPDate.read)
        else { return nil }
        return .seconds(max(0, moment.timeIntervalSince(now)))
    }
}
