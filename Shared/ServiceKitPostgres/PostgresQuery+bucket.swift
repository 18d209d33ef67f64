public import GatehouseServiceContracts
public import Postgres

extension PostgresQuery.Interpolation {
    /// Binds a bucket as `smallint`.
    public mutating func appendInterpolation(_ bucket: Bucket) {
        appendInterpolation(bucket.rawValue)
    }
}
