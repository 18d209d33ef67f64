import COpenSSL

/// OpenSSL at the end of a process. libpq and access tokens use it on several threads.
public enum OpenSSLAtExit {
    /// Has OpenSSL keep its locks until the process is gone.
    ///
    /// Otherwise `exit()` frees them while other threads may still need them: where a connection is just being opened or
    /// closed, a command that has done all its work ends with a crash.
    ///
    /// OpenSSL goes by the first call that it gets (`OPENSSL_INIT_NO_ATEXIT`, OPENSSL_init_crypto(3)), so this goes before
    /// all others. Calling it again costs nothing.
    public static func keepLocks() { _ = areKept }

    private static let areKept = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}
