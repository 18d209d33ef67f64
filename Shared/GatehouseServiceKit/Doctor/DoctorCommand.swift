public import ArgumentParser
public import AsyncHTTPClient
public import Foundation
import GatehouseLimits
import GatehouseSettings
public import Logging
public import NIOCore
import NIOHTTP1
import NIOPosix

/// `<service> doctor`: examines the installation with the service's own settings and reports problems.
public struct DoctorCommand<Application: ExaminedApplication>: AsyncParsableCommand {
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "doctor", abstract: "Check the dependencies of \(Application.name), and report problems.",
            discussion: """
                Run it where the service runs, with its settings. It changes nothing. Exits with 0 if it finds no \
                problem. A warning is not a problem.
                """)
    }

    public init() {}

    public func run() async throws {
        let findings = await Self.findings()
        print("\(Application.name) \(GatehouseVersion.description())")
        for finding in findings { print(finding.lines) }
        if findings.contains(where: { $0.severity == .problem }) { throw ExitCode.failure }
    }

    private static func findings() async -> [Finding] {
        let configuration: ServiceConfiguration<Application>
        do throws(SettingsError) {
            configuration = try .load()
        } catch {
            return error.problems.map {
                .problem(
                    "\($0.name) \($0.message).", remedy: "Correct the setting: the service does not start with it.")
            }
        }
        let client = HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: .gatehouse())
        let examination = Examination(httpClient: client, eventLoopGroup: MultiThreadedEventLoopGroup.singleton)
        var findings = [
            Finding.fine("The settings are valid (\(configuration.environment.rawValue))."),
            DescriptorFinding.finding(limit: FileDescriptors.raiseLimit()),
        ]
        findings += await Self.readiness(at: configuration.adminListenAddress.ofThisMachine, examination)
        findings += await Application.examine(configuration.application, examination)
        try? await client.shutdown()
        return findings
    }

    /// Whether the service itself runs here and is ready.
    private static func readiness(at address: ListenAddress, _ examination: Examination) async -> [Finding] {
        let name = Application.name
        do {
            let reply = try await examination.send("http://\(address)/readyz")
            if reply.status == 200 { return [.fine("\(name) runs here and is ready.")] }
            return [
                .problem(
                    "\(name) runs here and is not ready\(Examination.reasons(reply.body)).",
                    remedy: "See the lines below and its log for the reason.")
            ]
        } catch {
            return [
                .warning(
                    "\(name) does not answer on its admin port here (\(address)).",
                    remedy: "Start it, or run this where it runs.")
            ]
        }
    }
}

/// The resources of an examination, and the checks that services share.
public struct Examination: Sendable {
    public let httpClient: HTTPClient
    public let eventLoopGroup: any EventLoopGroup
    /// Discards all log messages, because findings report the problems.
    public let logger = Logger(label: "doctor") { _ in SwiftLogNoOpLogHandler() }
    let timeout = Duration.seconds(3)

    public init(httpClient: HTTPClient, eventLoopGroup: any EventLoopGroup) {
        self.httpClient = httpClient
        self.eventLoopGroup = eventLoopGroup
    }

    /// A response, and the difference between the responder's clock and this machine's.
    public struct Reply: Sendable {
        public let status: Int
        public let body: String
        /// Seconds that the other clock is ahead; `nil` without a `Date` field.
        let ahead: TimeInterval?
    }

    /// Sends a request over HTTP.
    ///
    /// - Throws: why no response came.
    public func send(
        _ url: String, method: String = "GET", headers: [(String, String)] = [], json: String? = nil
    ) async throws -> Reply {
        var request = HTTPClientRequest(url: url)
        request.method = HTTPMethod(rawValue: method)
        request.headers = HTTPHeaders(headers)
        if let json {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: json))
        }
        let sent = Date.now
        let answer = try await httpClient.exchange(request, upTo: 4 << 20, before: .after(timeout))
        let middle = sent.addingTimeInterval(Date.now.timeIntervalSince(sent) / 2)
        // The field has whole seconds, so on average the other clock is half a second ahead of it.
        let ahead = answer.headers.first(name: "Date").flatMap(ClockFinding.date).map {
            $0.addingTimeInterval(0.5).timeIntervalSince(middle)
        }
        return Reply(status: answer.status, body: String(buffer: answer.body), ahead: ahead)
    }

    /// Examines the age of a file.
    ///
    /// - Parameters:
    ///   - what: the content, for example "The refresh keys".
    ///   - remedy: how to replace the content.
    public func age(of what: String, in path: String, remedy: String, now: Date = .now) -> Finding {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        guard let changed = attributes?[.modificationDate] as? Date else {
            return .problem(
                "\(what) cannot be read: \(path).", remedy: "Give the service's user the right to read the file.")
        }
        return KeyAge.finding(what, age: now.timeIntervalSince(changed), verb: "were last changed", remedy: remedy)
    }
}

/// A service that `<service> doctor` can examine.
public protocol ExaminedApplication: ServiceApplication {
    /// Examines everything that the service depends on. Changes nothing, and takes at most a few seconds.
    ///
    /// - Parameter configuration: the configuration from valid settings.
    static func examine(_ configuration: Configuration, _ examination: Examination) async -> [Finding]
}

/// One result of `<service> doctor`, in the words that it prints.
public struct Finding: Sendable, Equatable {
    /// The severity of the finding.
    public enum Severity: String, Sendable, CaseIterable {
        /// No problem.
        case fine
        /// It works. The operator should act before it fails.
        case warning
        /// Something does not work, or is not safe.
        case problem
    }

    public let severity: Severity
    /// One or two sentences, with the figure.
    public let text: String
    /// The operator's action; `nil` if none is needed.
    public let remedy: String?

    private init(_ severity: Severity, _ text: String, _ remedy: String?) {
        self.severity = severity
        self.text = text
        self.remedy = remedy
    }

    public static func fine(_ text: String) -> Finding { Finding(.fine, text, nil) }

    public static func warning(_ text: String, remedy: String) -> Finding { Finding(.warning, text, remedy) }

    public static func problem(_ text: String, remedy: String) -> Finding { Finding(.problem, text, remedy) }

    /// The printed text, with the remedy on a line of its own.
    public var lines: String {
        let margin = 9
        let label = severity.rawValue + String(repeating: " ", count: margin - severity.rawValue.count)
        guard let remedy else { return "  \(label)\(text)" }
        return "  \(label)\(text)\n  \(String(repeating: " ", count: margin))→ \(remedy)"
    }
}
