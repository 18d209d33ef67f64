/// The type of a parameter or column: PostgreSQL's object identifier from `pg_type`.
public struct PostgresType: Sendable, Hashable, CustomStringConvertible {
    /// The object identifier.
    public let oid: UInt32

    /// Any type, also one that is not named here.
    public init(_ oid: UInt32) {
        self.oid = oid
    }

    /// Lets the server decide from the place where the parameter stands.
    public static let inferred = PostgresType(0)
    /// `boolean`
    public static let bool = PostgresType(16)
    /// `bytea`
    public static let bytea = PostgresType(17)
    /// `bigint`
    public static let int8 = PostgresType(20)
    /// `smallint`
    public static let int2 = PostgresType(21)
    /// `integer`
    public static let int4 = PostgresType(23)
    /// `text`
    public static let text = PostgresType(25)
    /// `json`
    public static let json = PostgresType(114)
    /// `real`
    public static let float4 = PostgresType(700)
    /// `double precision`
    public static let float8 = PostgresType(701)
    /// `timestamp with time zone`
    public static let timestamptz = PostgresType(1184)
    /// `uuid`
    public static let uuid = PostgresType(2950)
    /// `jsonb`
    public static let jsonb = PostgresType(3802)
    /// `boolean[]`
    public static let boolArray = PostgresType(1000)
    /// `smallint[]`
    public static let int2Array = PostgresType(1005)
    /// `integer[]`
    public static let int4Array = PostgresType(1007)
    /// `text[]`
    public static let textArray = PostgresType(1009)
    /// `bigint[]`
    public static let int8Array = PostgresType(1016)
    /// `double precision[]`
    public static let float8Array = PostgresType(1022)
    /// `timestamp with time zone[]`
    public static let timestamptzArray = PostgresType(1185)
    /// `uuid[]`
    public static let uuidArray = PostgresType(2951)

    /// The object identifier in figures.
    public var description: String { String(oid) }

    /// Types whose binary form is not text: `String` refuses to read it.
    private static let notText: Set<PostgresType> = [
        bool, bytea, int8, int2, int4, float4, float8, timestamptz, uuid, jsonb, boolArray, int2Array, int4Array,
        textArray, int8Array, float8Array, timestamptzArray, uuidArray,
        // oid, inet, cidr, date, time, timestamp, interval, numeric: cast these to text, or ask for rows in text form.
        PostgresType(26), PostgresType(869), PostgresType(650), PostgresType(1082), PostgresType(1083),
        PostgresType(1114), PostgresType(1186), PostgresType(1700),
    ]

    var hasTextAsBinaryForm: Bool { !Self.notText.contains(self) }
}
