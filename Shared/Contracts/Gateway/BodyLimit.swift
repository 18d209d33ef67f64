/// The limit on bodies of Gatehouse's own routes.
public enum BodyLimit {
    /// 64 KiB.
    public static let bytes = 65_536
}
