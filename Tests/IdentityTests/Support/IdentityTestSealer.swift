import Foundation
import Sealing

@testable import IdentityCore

/// Opens what the service of a ``Harness`` has sealed.
enum IdentityTestSealer {
    static var messages: Sealer {
        let key = Data(repeating: 1, count: 32).base64EncodedString()
        return Sealer(keys: try! KeyRing("k1:\(key)"), purpose: MessageQueue.sealingPurpose)
    }
}
