import Foundation
import GatehouseClient
import Testing

@Suite("This device in the list of sessions")
struct SessionDeviceTests {
    @Test("The model and the system's version are known, and nothing names the user")
    func current() {
        let device = SessionDevice.current
        #expect(device.model?.isEmpty == false)
        #expect(device.osVersion?.wholeMatch(of: /[0-9]+\.[0-9]+(\.[0-9]+)?/) != nil)
        #expect(device.name == nil && device.installationId == nil && device.deviceToken == nil)
    }
}
