import Testing

@testable import IdentityService

@Suite struct PhoneDestinationTests {
    @Test(arguments: [
        ("+491711234567", "49", "49"), ("+79161234567", "7", "7"), ("+12125550123", "1", "1212"),
        ("+18765550123", "1", "1876"), ("+972501234567", "972", "972"), ("+966501234567", "966", "966"),
        ("+97150123456", "971", "971"), ("+201001234567", "20", "20"), ("+211912345678", "211", "211"),
        ("+3581234567", "358", "358"), ("+88216123456", "882", "882"),
    ])
    func numbersAreCountedByWhereTheyLead(number: String, callingCode: String, destination: String) throws {
        let number = try PhoneNumber(number)
        #expect(number.callingCode == callingCode)
        #expect(number.destination == destination)
    }
}
