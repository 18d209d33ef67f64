/// A key that is too short to be secure. It protects nothing.
public enum WeakKey {
    /// An RSA key of 1024 bits, in PEM.
    public static let rsa1024Public = """
        -----BEGIN PUBLIC KEY-----
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDuuKNyKZABx3IxkRpRw6paxBn9
        Mkk7cMDBXqwoa6suQKLmPnvjAdv26kTN8AxEVCM7LQF9CkwGDXjLiLV9XGxDBiac
        wunx2pQmRhfGzQznSumjYRue5KcylqlcfkieO+u+0A7gwtFEiJ+DygSTOSK+NHNd
        T3rTYZ9wOuf0JrQvaQIDAQAB
        -----END PUBLIC KEY-----
        """
}
