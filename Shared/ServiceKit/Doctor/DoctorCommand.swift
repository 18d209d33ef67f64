public import ArgumentParser
public import AsyncHTTPClient
public import Foundation
public import Logging
public import NIOCore
import NIOHTTP1
import NIOPosix
import Settings

/// `<service> doctor`: looks at the installation with the service's own settings and says what is wrong.
public struct DoctorCommand<Application: ExaminedApplication>: AsyncParsableCommand {
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "doctor", abstract: "Look at what \(Application.name) depends on, and say what is wrong.",
            discussion: """
                Run it where the service runs, with its settings. It changes nothing. Ends with 0 where there is no \
                problem; a warning is none.
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
            let reply = try await examination.ask("http://\(address)/readyz")
            if reply.status == 200 { return [.fine("\(name) runs here and is ready.")] }
            return [
                .problem(
                    "\(name) runs here and is not ready\(Examination.reasons(reply.body)).",
                    remedy: "The lines below, and its log, tell why.")
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

/// What an examination is made with, and what services have alike.
public struct Examination: Sendable {
    public let httpClient: HTTPClient
    public let eventLoopGroup: any EventLoopGroup
    /// Drops everything: what is wrong is told by findings.
    public let logger = Logger(label: "doctor") { _ in SwiftLogNoOpLogHandler() }
    /// How long an answer may take.
    let patience = Duration.seconds(3)

    public init(httpClient: HTTPClient, eventLoopGroup: any EventLoopGroup) {
        self.httpClient = httpClient
        self.eventLoopGroup = eventLoopGroup
    }

    /// An answer, and how far the clock of whoever gave it was from this machine's.
    public struct Reply: Sendable {
        public let status: Int
        public let body: String
        /// Seconds that the other clock is ahead; `nil` where no `Date` came.
        let ahead: TimeInterval?
    }

    /// Asks for something over HTTP.
    ///
    /// - Throws: why there was no answer.
    public func ask(
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
        let answer = try await httpClient.exchange(request, upTo: 4 << 20, before: .after(patience))
        let middle = sent.addingTimeInterval(Date.now.timeIntervalSince(sent) / 2)
        // The field has whole seconds, so on average its clock is half of one further.
        let ahead = answer.headers.first(name: "Date").flatMap(ClockFinding.date).map {
            $0.addingTimeInterval(0.5).timeIntervalSince(middle)
        }
        return Reply(status: answer.status, body: String(buffer: answer.body), ahead: ahead)
    }

    /// How old a file is, and who may read it.
    ///
    /// - Parameters:
    ///   - what: as in "The refresh keys".
    ///   - remedy: how what it holds is replaced.
    public func age(of what: String, in path: String, remedy: String, now: Date = .now) -> Finding {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        guard let changed = attributes?[.modificationDate] as? Date else {
            return .problem(
                "\(what) cannot be looked at: \(path).", remedy: "Give the service's user the right to read it.")
        }
        return KeyAge.finding(what, age: now.timeIntervalSince(changed), verb: "were last changed", remedy: remedy)
    }
}

/// A service that `<service> doctor` can examine.
public protocol ExaminedApplication: ServiceApplication {
    /// Looks at everything that the service depends on. Changes nothing, and takes seconds at most.
    ///
    /// - Parameter configuration: of settings that are valid.
    static func examine(_ configuration: Configuration, _ examination: Examination) async -> [Finding]
}

/// One thing that `<service> doctor` has looked at, in the words that it prints.
public struct Finding: Sendable, Equatable {
    /// How bad it is.
    public enum Severity: String, Sendable, CaseIterable {
        /// As it should be.
        case fine
        /// It works; somebody should look at it before it does not.
        case warning
        /// Something does not work, or is not safe.
        case problem
    }

    public let severity: Severity
    /// What was found: one sentence or two, with the figure.
    public let text: String
    /// What to do about it; `nil` where nothing is to be done.
    public let remedy: String?

    private init(_ severity: Severity, _ text: String, _ remedy: String?) {
        self.severity = severity
        self.text = text
        self.remedy = remedy
    }

    public static func fine(_ text: String) -> Finding { Finding(.fine, text, nil) }

    public static func warning(_ text: String, remedy: String) -> Finding { Finding(.warning, text, remedy) }

    public static func problem(_ text: String, remedy: String) -> Finding { Finding(.problem, text, remedy) }

    /// As it is printed: the remedy on a line of its own.
    public var lines: String {
        let margin = 9
        let label = severity.rawValue + String(repeating: " ", count: margin - severity.rawValue.count)
        guard let remedy else { return "  \(label)\(text)" }
        return "  \(label)\(text)\n  \(String(repeating: " ", count: margin))→ \(remedy)"
    }
}
