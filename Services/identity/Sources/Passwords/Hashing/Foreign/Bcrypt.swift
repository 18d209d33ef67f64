import Bytes
import Foundation

#if os(Linux)
    import CCrypt
#endif

/// bcrypt by the system's libcrypt. macOS has none: there such a hash verifies no password.
enum Bcrypt {
    /// Blocks the calling thread for the whole of the work.
    static func verify(_ password: [UInt8], _ hash: BcryptHash) -> Bool {
        #if os(Linux)
            // The library would take the password to end there.
            guard !password.contains(0) else { return false }
            let phrase = password.map { CChar(bitPattern: $0) } + [0]
            // 32 KiB, which is too much for a thread's stack to be asked for.
            let data = UnsafeMutablePointer<crypt_data>.allocate(capacity: 1)
            memset(data, 0, MemoryLayout<crypt_data>.size)
            defer {
                memset(data, 0, MemoryLayout<crypt_data>.size)
                data.deallocate()
            }
            guard let made = crypt_r(phrase, hash.text, data) else { return false }
            return constantTimeEqual(Array(String(cString: made).utf8), Array(hash.text.utf8))
        #else
            return false
        #endif
    }
}
