import CGatehouseOpenSSL

/// OpenSSL at the end of a process. libpq and access tokens use it on several threads.
public enum OpenSSLAtExit {
    /// Makes OpenSSL keep its locks until the process has ended.
    ///
    /// Otherwise `exit()` frees them while other threads may still need them: a command that has completed its work
    /// may crash while a connection is being opened or closed.
    ///
    /// OpenSSL applies only the first call (`OPENSSL_INIT_NO_ATEXIT`, OPENSSL_init_crypto(3)), so this must precede all
    /// other calls. Calling it again costs nothing.
    public static func keepLocks() { _ = areKept }

    private static let areKept = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}
