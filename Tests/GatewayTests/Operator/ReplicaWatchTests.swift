import Foundation
import Synchronization
import Testing

@testable import GatewayService

@Suite("Probing replicas")
struct ReplicaWatchTests {
    private static let ready = (status: 200, body: Data(#"{"status":"ready","version":"1.0.0"}"#.utf8))

    @Test("Each replica is probed once, however many pages are open")
    func once() async {
        let probed = Mutex<[String]>([])
        let watch = ReplicaWatch(replicas: { [("tokens", "b:1"), ("devices", "a:1")] }) { address in
            probed.withLock { $0.append(address) }
            return address == "a:1" ? Self.ready : nil
        }
        await withTaskGroup(of: Void.self) { pages in
            for _ in 0..<20 {
                pages.addTask {
                    let statuses = await watch.refresh()
                    #expect(statuses.map(\.service) == ["devices", "tokens"])
                    #expect(statuses.map(\.state) == [.ready, .unreachable])
                }
            }
        }
        #expect(probed.withLock { $0.sorted() } == ["a:1", "b:1"])
        #expect(await watch.notProbed == 0)
    }

    @Test("The number of probed replicas is bounded")
    func bound() async {
        let watch = ReplicaWatch(
            replicas: { (0..<100).map { ("tokens", "10.0.0.\($0):1") } }, probe: { _ in Self.ready })
        #expect(await watch.refresh().count == ReplicaWatch.most)
        #expect(await watch.notProbed == 100 - ReplicaWatch.most)
    }
}
