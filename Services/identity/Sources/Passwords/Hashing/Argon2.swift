import CArgon2

/// Argon2id (RFC 9106) by the reference library.
enum Argon2 {
    /// Blocks the calling thread for the whole of the work.
    /// - Returns: `nil` when the library refuses, which with acceptable parameters means that memory ran out.
    static func hash(
        _ password: [UInt8], salt: [UInt8], parameters: Argon2Parameters, length: Int
    ) -> [UInt8]? {
        run(password, salt, parameters, length: length, version: ARGON2_VERSION_13.rawValue) { argon2id_ctx(&$0) }
    }

    /// As another system has hashed it.
    static func hash(_ password: [UInt8], as foreign: ForeignArgon2Hash) -> [UInt8]? {
        let length = foreign.hash.count
        return run(password, foreign.salt, foreign.parameters, length: length, version: UInt32(foreign.version)) {
            switch foreign.variant {
            case .argon2d: argon2d_ctx(&$0)
            case .argon2i: argon2i_ctx(&$0)
            case .argon2id: argon2id_ctx(&$0)
            }
        }
    }

    private static func run(
        _ password: [UInt8], _ salt: [UInt8], _ parameters: Argon2Parameters, length: Int, version: UInt32,
        _ function: (inout argon2_context) -> Int32
    ) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: length)
        var password = password
        var salt = salt
        let status = output.withUnsafeMutableBufferPointer { output in
            password.withUnsafeMutableBufferPointer { password in
                salt.withUnsafeMutableBufferPointer { salt in
                    var context = argon2_context()
                    context.out = output.baseAddress
                    context.outlen = UInt32(output.count)
                    context.pwd = password.baseAddress
                    context.pwdlen = UInt32(password.count)
                    context.salt = salt.baseAddress
                    context.saltlen = UInt32(salt.count)
                    context.t_cost = UInt32(parameters.iterations)
                    context.m_cost = UInt32(parameters.memory)
                    context.lanes = UInt32(parameters.parallelism)
                    context.threads = 1
                    context.version = version
                    context.flags = 1 << 0  // ARGON2_FLAG_CLEAR_PASSWORD
                    context.allocate_cbk = { memory, size in
                        guard let block = HashMemory.shared.take(size) else {
                            return Int32(ARGON2_MEMORY_ALLOCATION_ERROR.rawValue)
                        }
                        memory?.pointee = block.assumingMemoryBound(to: UInt8.self)
                        return Int32(ARGON2_OK.rawValue)
                    }
                    context.free_cbk = { memory, size in
                        if let memory { HashMemory.shared.giveBack(UnsafeMutableRawPointer(memory), size: size) }
                    }
                    return function(&context)
                }
            }
        }
        return status == Int32(ARGON2_OK.rawValue) ? output : nil
    }
}
