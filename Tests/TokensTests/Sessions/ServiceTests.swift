import Testing

/// The real application, one test at a time: each runs whole services, which need the machine for themselves to keep
/// their deadlines.
@Suite(.serialized) struct ServiceTests {}
