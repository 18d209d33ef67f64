/// The body of a request that takes no fields: nothing, or an object, whose fields are ignored.
public struct NoFields: Decodable, Sendable {
    private enum Field: CodingKey {}

    public init(from decoder: any Decoder) throws {
        _ = try decoder.container(keyedBy: Field.self)
    }
}
