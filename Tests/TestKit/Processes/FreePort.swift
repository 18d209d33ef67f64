import Foundation
import Synchronization

/// The ports that this process' tests have received. Each port is given only once.
private let given = Mutex<Set<Int>>([])

/// A TCP port of the loopback address that was unused a moment ago. It is outside the range of ephemeral ports, so that
/// a restarted server finds its port free.
public func freePort() throws -> Int {
    for _ in 1...100 {
        let port = Int.random(in: 15_000..<32_000)
        let result = try withLoopbackSocket(port: port) { descriptor, address in
            bind(descriptor, address, addressLength)
        }
        if result == 0, given.withLock({ $0.insert(port).inserted }) { return port }
    }
    throw TestKitError("No port is free.")
}

/// Whether a process accepts connections on a port of the loopback address.
public func isListening(onPort port: Int) -> Bool {
    let result = try? withLoopbackSocket(port: port) { descriptor, address in
        connect(descriptor, address, addressLength)
    }
    return result == 0
}

private let addressLength = socklen_t(MemoryLayout<sockaddr_in>.size)

private func withLoopbackSocket<Value>(
    port: Int = 0, _ body: (Int32, UnsafeMutablePointer<sockaddr>) throws -> Value
) throws -> Value {
    #if canImport(Darwin)
        let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #else
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #endif
    guard descriptor >= 0 else { throw TestKitError("No socket could be made.") }
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return try withUnsafeMutablePointer(to: &address) {
        try $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { try body(descriptor, $0) }
    }
}
