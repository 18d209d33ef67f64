import Foundation
import TestKit
import Testing

@testable import AppleSimulator

/// What survives the end of the simulator in the file of APNs' log.
@Suite struct APNsLogFileTests {
    private static let app = "com.example.app"

    private func entry(_ id: String, _ payload: String = "{}") -> APNsPushLog.Entry {
        APNsPushLog.Entry(
            time: 60_000, connection: 1, token: "aa", topic: Self.app, id: id, payload: payload, status: 200)
    }

    private func simulation(_ path: String) throws -> APNsSimulation {
        try APNsSimulation(log: RequestLog(), logFile: path)
    }

    /// Runs `body` with the path of a file that contains `text`.
    private func withFile(_ text: String = "", _ body: (String) throws -> Void) throws {
        let files = try TemporaryFiles()
        defer { files.remove() }
        try body(try files.write(text))
    }

    private func contents(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    // MARK: - Pushes

    @Test func pushesAndTheirNumbersContinue() throws {
        try withFile { file in
            let path = file + ".new"
            let first = try simulation(path)
            let payload = "{\"aps\":{\"alert\":\"A\\nB\"}}\n\u{2028}"
            for push in [entry("a", payload), entry("b"), entry("a")] { first.pushes.add(push) }
            first.pushes.withdraw(2)

            let second = try simulation(path)
            #expect(second.pushes.entries == first.pushes.entries)
            let page = second.pushes.page(after: 1)
            #expect(page.pushes.map(\.number) == [2, 3] && page.next == 3 && page.lost == 0)
            #expect(page.pushes.map(\.status) == [nil, 200] && page.pushes.map(\.duplicates) == [0, 1])
            #expect(second.pushes.add(entry("a")) == 4)
            #expect(second.pushes.entries.last?.duplicates == 2)

            #expect(try simulation(path).pushes.entries == second.pushes.entries)
            #expect(try contents(path).split(separator: "\n").count == 5)
        }
    }

    @Test func theBoundOfTheMemoryHoldsAgain() throws {
        try withFile { path in
            func bounded() throws -> APNsPushLog {
                let file = try APNsLogFile(path: path)
                let log = APNsPushLog(maximumCount: 2, file: file)
                try file.readRecords { record in
                    if case .push(let entry) = record { try log.restore(entry) }
                }
                return log
            }
            let first = try bounded()
            for _ in 1...3 { first.add(entry("a")) }
            let second = try bounded()
            #expect(second.entries == first.entries && second.page(after: 0).lost == 1)
            #expect(second.add(entry("a")) == 4)
            #expect(second.entries.map(\.number) == [3, 4] && second.entries.map(\.duplicates) == [2, 2])
        }
    }

    @Test(arguments: [#"{"push":{"entry":{"number":2,"#, "{", #"{"channel":{"app":"a","id":"b"}}"#])
    func anIncompleteLastLineIsCutOff(_ rest: String) throws {
        try withFile { path in
            try simulation(path).pushes.add(entry("a"))
            let complete = try contents(path)
            try Data((complete + rest).utf8).write(to: URL(filePath: path))

            let second = try simulation(path)
            #expect(second.pushes.entries.map(\.number) == [1])
            #expect(try contents(path) == complete)
            #expect(second.pushes.add(entry("b")) == 2)
            #expect(try simulation(path).pushes.entries.map(\.id) == ["a", "b"])
        }
        try withFile(rest) { path in
            let log = try simulation(path).pushes
            #expect(log.entries.isEmpty)
            #expect(try contents(path).isEmpty)
        }
    }

    @Test func sigkillLosesNoPush() async throws {
        let files = try TemporaryFiles()
        defer { files.remove() }
        let path = try files.write("")
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let log = try APNsSimulation(log: RequestLog(), logFile: path).pushes
            for number in 1...100 {
                log.add(APNsPushLog.Entry(time: number, connection: 1, token: "aa", payload: "{}", status: 200))
            }
            _ = kill(getpid(), SIGKILL)
        }
        #expect(try simulation(path).pushes.entries.map(\.time) == Array(1...100))
    }

    // MARK: - Channels

    @Test func channelsSurvive() throws {
        try withFile { path in
            var create = APNsPush()
            create.method = "POST"
            create.body = Array(#"{"message-storage-policy":1,"push-type":"LiveActivity"}"#.utf8)
            let first = try simulation(path).channels
            let kept = try #require(first.perform(create, app: Self.app).channelID)
            var delete = APNsPush()
            delete.method = "DELETE"
            delete.channelIdentifier = first.perform(create, app: Self.app).channelID
            #expect(first.perform(delete, app: Self.app).status == 204)

            let second = try simulation(path).channels
            #expect(second.policy(of: kept, app: Self.app) == .mostRecentMessage)
            #expect(second.perform(delete, app: Self.app) == .refused(400, "ChannelNotRegistered"))
        }
    }

    // MARK: - Errors

    @Test func aFileThatCannotBeOpenedIsAnError() throws {
        let missing = #expect(throws: APNsLogFileError.self) { _ = try simulation("/does/not/exist") }
        #expect(missing?.description == "APNs' log /does/not/exist cannot be opened: No such file or directory")
        let folder = FileManager.default.temporaryDirectory.path
        let error = #expect(throws: APNsLogFileError.self) { _ = try simulation(folder) }
        #expect(error?.description.contains("\(folder) cannot be opened: ") == true)
    }

    @Test func aWrongLineIsAnError() throws {
        try withFile { path in
            let log = try simulation(path).pushes
            for id in ["a", "b", "c"] { log.add(entry(id)) }
            let lines = try contents(path).split(separator: "\n")
            try Data("other".utf8).write(to: URL(filePath: path))
            #expect(throws: APNsLogFileError.self) { _ = try simulation(path) }
            try Data("\(lines[1])\n".utf8).write(to: URL(filePath: path))
            #expect(throws: APNsLogFileError.self) { _ = try simulation(path) }
            for wrong in ["", "{}", #"{"push":{"entry":{"number":2}}}"#, String(lines[2])] {
                let text = "\(lines[0])\n\(wrong)\n"
                try Data(text.utf8).write(to: URL(filePath: path))
                let error = #expect(throws: APNsLogFileError.self) { _ = try simulation(path) }
                #expect(error?.description.hasPrefix("APNs' log \(path) is wrong in line 2: ") == true)
                #expect(try contents(path) == text, "the file is left alone")
            }
        }
    }

    #if os(Linux)
        @Test func aFullDiskEndsTheProcessWithTheReason() async throws {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                try APNsLogFile(path: "/dev/full").append(.channel(app: "a", id: "b", policy: nil))
            }
            let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(text.contains("APNs' log /dev/full cannot be written: No space left on device"))
        }
    #endif

    // MARK: - The whole simulator

    @Test func aSecondSimulatorContinuesOverHTTP() async throws {
        struct APNs: Decodable { var port: Int }
        let files = try TemporaryFiles()
        defer { files.remove() }
        let settings = [
            "APPLE_SIMULATOR_APNS_LISTEN_ADDRESS": "127.0.0.1:0",
            "APPLE_SIMULATOR_APNS_LOG_FILE": try files.write(""),
        ]
        let now = Int(Date().timeIntervalSince1970)
        let headers = [
            "apns-topic": Self.app, "authorization": try TestProvider().authorization(issuedAt: now),
            "apns-id": UUID().uuidString.lowercased(),
        ]
        for count in 1...2 {
            try await withService(AppleSimulatorApplication.self, settings: settings) { service in
                let simulator = TestHTTPClient(service.url)
                let port = try await simulator.get("/simulator/apns").decode(APNs.self).port
                let client = try await HTTP2TestClient.connect(port: port)
                let alert = #"{"aps":{"alert":{"title":"Hello \#(count)"}}}"#
                #expect(try await client.post("/3/device/00aa", headers: headers, body: alert).status == "200")
                try await client.close()

                let page = try await simulator.get("/simulator/apns-pushes").decode(APNsPushLog.Page.self)
                #expect(page.pushes.map(\.number) == Array(1...count) && page.next == count && page.lost == 0)
                #expect(page.pushes.last?.duplicates == count - 1)
                let phone = try await simulator.get("/simulator/phone").text
                for number in 1...count { #expect(phone.contains("Hello \(number)")) }
            }
        }
    }

    @Test func aSimulatorDoesNotStartWithoutItsFile() async throws {
        let settings = [
            "APPLE_SIMULATOR_APNS_LISTEN_ADDRESS": "127.0.0.1:0",
            "APPLE_SIMULATOR_APNS_LOG_FILE": "/does/not/exist",
        ]
        await #expect(throws: APNsLogFileError.self) {
            try await withService(AppleSimulatorApplication.self, settings: settings) { _ in }
        }
    }
}
