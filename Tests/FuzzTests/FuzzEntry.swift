/// libFuzzer calls this with input after input. A trap or a finding ends the process, and libFuzzer keeps the input.
@_cdecl("LLVMFuzzerTestOneInput")
public func checkOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
        try RequestType.check(Array(UnsafeBufferPointer(start: data, count: count)))
        return 0
    } catch {
        fatalError("\(error)")
    }
}

/// libFuzzer calls this in place of its own changes, which would spend most of their time on what is no JSON.
@_cdecl("LLVMFuzzerCustomMutator")
public func mutate(_ data: UnsafeMutablePointer<UInt8>, _ count: Int, _ most: Int, _ seed: CUnsignedInt) -> Int {
    var generator = SplitMix64(seed: UInt64(seed))
    let bytes = Array(UnsafeBufferPointer(start: data, count: count))
    let body = bytes.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    let changed = bytes[..<body] + Mutation.random(Array(bytes[body...]), using: &generator)
    let result = changed.prefix(most)
    for (index, byte) in result.enumerated() { data[index] = byte }
    return result.count
}
