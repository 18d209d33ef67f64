import Foundation
import Sealing

@testable import IdentityService

extension KeyRing {
    static var sample: KeyRing { try! KeyRing("k1:\(Data(repeating: 1, count: 32).base64EncodedString())") }
}
