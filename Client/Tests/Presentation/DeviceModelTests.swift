import GatehouseContracts
import Testing

@testable import GatehouseClient

@Suite("The names of devices in the list of sessions")
struct DeviceModelTests {
    @Test(
        "A model has the name that people know, and an unknown one its identifier",
        arguments: [
            ("iPhone17,1", "iPhone 16 Pro"), ("iPhone18,4", "iPhone Air"), ("iPad16,3", "iPad Pro 11-inch (M4)"),
            ("Mac15,12", "MacBook Air (13-inch, M3, 2024)"), ("MacBookPro18,3", "MacBook Pro (14-inch, 2021)"),
            ("iPhone99,1", "iPhone99,1"), ("Pixel 10", "Pixel 10"), ("iphone17,1", "iphone17,1"),
        ])
    func names(model: String, title: String) {
        #expect(SessionDevice(model: model).title == title)
    }

    @Test("The name that an app has given the device comes first")
    func ownName() {
        #expect(SessionDevice(name: "Ada's phone", model: "iPhone17,1").title == "Ada's phone")
        #expect(SessionDevice().title == nil)
    }

    @Test("No model has two names")
    func unambiguous() {
        let all = DeviceModel.all.flatMap(\.identifiers)
        #expect(Set(all).count == all.count)
    }
}
