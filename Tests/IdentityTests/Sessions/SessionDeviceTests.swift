import Contracts
import Testing

@testable import IdentityService

@Suite struct SessionDeviceTests {
    @Test func namesTheFieldThatIsWrong() throws {
        #expect(try SessionDevice(name: "Ada's iPhone", model: "iPhone17,1").checked().name == "Ada's iPhone")
        #expect(throws: Problem.self) { try SessionDevice(name: "a\u{202E}b").checked() }
        #expect {
            try SessionDevice(osVersion: String(repeating: "1", count: 201)).checked()
        } throws: { error in
            (error as? Problem)?.errors.first?.field == "device.osVersion"
        }
    }
}
