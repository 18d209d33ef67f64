import Foundation

/// The lock screens of phones, as a page of HTML: the alerts that APNs accepted for a device token.
struct PhonePage {
    struct Alert: Equatable {
        var app: String
        var title: String?
        var subtitle: String?
        var body: String?
        var collapseID: String?
        /// Milliseconds since 1970.
        var time: Int
    }

    struct Phone: Equatable {
        var token: String
        /// The newest first.
        var alerts: [Alert] = []
        /// By app.
        var badges: [String: Int] = [:]
    }

    private static let maximumPhones = 50
    private static let maximumAlerts = 20

    /// Those with the newest pushes first.
    private(set) var phones: [Phone] = []

    /// - Parameters:
    ///   - entries: the log of pushes, the oldest first.
    ///   - token: nil for every phone.
    ///   - now: seconds since 1970. Alerts that have expired are gone.
    init(_ entries: [APNsPushLog.Entry], token: String?, now: Int) {
        var found: [String: Phone] = [:]
        var order: [String: Int] = [:]
        for entry in entries where entry.status == 200 && entry.channel == nil && (token == nil || entry.token == token)
        {
            let payload = try? JSONDecoder().decode(Payload.self, from: Data(entry.payload.utf8))
            let topic = entry.topic ?? ""
            let app = String(topic.dropLast(PushTypeRule.suffix(of: topic).count))
            order[entry.token] = entry.number
            found[entry.token, default: Phone(token: entry.token)].add(payload?.aps, of: app, entry, now: now)
        }
        phones = found.values.sorted { order[$0.token, default: 0] > order[$1.token, default: 0] }
            .prefix(Self.maximumPhones).map { phone in
                var phone = phone
                phone.alerts = Array(phone.alerts.reversed().prefix(Self.maximumAlerts))
                return phone
            }
    }

    /// The page, which loads itself again every three seconds.
    var html: String {
        let content =
            phones.isEmpty
            ? "<p class=empty>No push has arrived.</p>" : phones.map(Self.html(of:)).joined(separator: "\n")
        return """
            <!DOCTYPE html>
            <html lang=en>
            <head>
            <meta charset=utf-8>
            <meta name=viewport content="width=device-width">
            <meta http-equiv=refresh content=3>
            <title>Lock screen</title>
            <style>\(Self.style)</style>
            </head>
            <body>
            \(content)
            </body>
            </html>

            """
    }

    private static func html(of phone: Phone) -> String {
        let badges = phone.badges.filter { $0.value > 0 }.sorted { $0.key < $1.key }
            .map { "<span class=app>\(escaped($0.key)) <b class=badge>\($0.value)</b></span>" }
        return """
            <main class=phone>
            <h1>\(phone.alerts.first.map { clock($0.time) } ?? "–")</h1>
            <ol>
            \(phone.alerts.map(html(of:)).joined(separator: "\n"))
            </ol>
            <footer>\(badges.joined(separator: " "))<a href="?token=\(escaped(phone.token))">…\
            \(escaped(String(phone.token.suffix(8))))</a></footer>
            </main>
            """
    }

    private static func html(of alert: Alert) -> String {
        func line(_ element: String, _ text: String?) -> String {
            text.map { "<\(element) dir=auto>\(escaped($0))</\(element)>" } ?? ""
        }
        let collapse = alert.collapseID.map { " title=\"apns-collapse-id \(escaped($0))\"" } ?? ""
        return """
            <li\(collapse)><small>\(escaped(alert.app)) <time>\(clock(alert.time))</time></small>\
            \(line("h2", alert.title))\(line("h3", alert.subtitle))\(line("p", alert.body))</li>
            """
    }

    /// Hours and minutes in UTC.
    private static func clock(_ milliseconds: Int) -> String {
        let minutes = milliseconds / 60_000 % 1_440
        return "\(minutes / 60):\(minutes % 60 < 10 ? "0" : "")\(minutes % 60)"
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    private static let style = """
        * { margin: 0; box-sizing: border-box }
        body { display: flex; flex-wrap: wrap; gap: 2rem; justify-content: center; padding: 2rem; background: #e8e8ed;
        font: 15px/1.35 -apple-system, "Segoe UI", Roboto, sans-serif }
        .phone { display: flex; flex-direction: column; width: 370px; min-height: 720px; padding: 3.5rem 14px 14px;
        border: 10px solid #111; border-radius: 52px; color: #fff;
        background: linear-gradient(160deg, #1d3557, #6d597a 60%, #e56b6f) }
        h1 { margin-bottom: 2rem; font-size: 76px; font-weight: 300; line-height: 1; text-align: center }
        ol { flex: 1; padding: 0; list-style: none }
        li { margin-bottom: 8px; padding: 11px 14px; border-radius: 20px; color: #111; background: #f4f4f6e6;
        overflow-wrap: anywhere }
        small { display: flex; justify-content: space-between; gap: 1em; color: #555; font-size: 12px }
        h2, h3 { font-size: 15px } h3 { font-weight: 500 } p { white-space: pre-line }
        footer { display: flex; flex-wrap: wrap; gap: 1em; padding: 10px; font-size: 12px }
        footer a { margin-left: auto; color: #fff }
        .badge { padding: 1px 7px; border-radius: 9px; background: #e02020 }
        .empty { margin-top: 20vh; color: #555 }
        """
}

extension PhonePage.Phone {
    fileprivate mutating func add(_ aps: Payload.APS?, of app: String, _ entry: APNsPushLog.Entry, now: Int) {
        if let badge = aps?.badge { badges[app] = badge }
        // "An identifier you use to merge multiple notifications into a single notification for the user."
        if let collapseID = entry.collapseId {
            alerts.removeAll { $0.app == app && $0.collapseID == collapseID }
        }
        guard let alert = aps?.alert else { return }
        // An expiration of 0 means "deliver now or never".
        if let expiration = entry.expiration, expiration != 0, expiration <= now { return }
        alerts.append(
            PhonePage.Alert(
                app: app, title: alert.title ?? alert.titleKey, subtitle: alert.subtitle ?? alert.subtitleKey,
                body: alert.body ?? alert.bodyKey, collapseID: entry.collapseId, time: entry.time))
    }
}

/// The parts of a payload that a lock screen shows ("Generating a remote notification").
private struct Payload: Decodable {
    struct APS: Decodable {
        var alert: AlertContent?
        var badge: Int?
    }

    /// A text, or an object.
    struct AlertContent: Decodable {
        var title, subtitle, body: String?
        /// Keys of texts in the app, which the page shows as they are.
        var titleKey, subtitleKey, bodyKey: String?

        private enum CodingKeys: String, CodingKey {
            case title, subtitle, body
            case titleKey = "title-loc-key"
            case subtitleKey = "subtitle-loc-key"
            case bodyKey = "loc-key"
        }

        init(from decoder: any Decoder) throws {
            if let text = try? decoder.singleValueContainer().decode(String.self) {
                body = text
                return
            }
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            title = try fields.decodeIfPresent(String.self, forKey: .title)
            subtitle = try fields.decodeIfPresent(String.self, forKey: .subtitle)
            body = try fields.decodeIfPresent(String.self, forKey: .body)
            titleKey = try fields.decodeIfPresent(String.self, forKey: .titleKey)
            subtitleKey = try fields.decodeIfPresent(String.self, forKey: .subtitleKey)
            bodyKey = try fields.decodeIfPresent(String.self, forKey: .bodyKey)
        }
    }

    var aps: APS?
}
