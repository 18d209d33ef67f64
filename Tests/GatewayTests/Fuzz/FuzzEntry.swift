import Foundation

private let target: FuzzTarget = {
    let name = ProcessInfo.processInfo.environment["GATEHOUSE_FUZZ_TARGET"] ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
        fatalError("GATEHOUSE_FUZZ_TARGET must be one of \(FuzzTarget.allCases.map(\.rawValue)), not '\(name)'")
    }
    return target
}()

/// libFuzzer calls this with input after input. A finding ends the process, and libFuzzer keeps the input.
@_cdecl("LLVMFuzzerTestOneInput")
public func checkOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
        try target.check(Array(UnsafeBufferPointer(start: data, count: count)))
        return 0
    } catch {
        fatalError("\(error)")
    }
}
