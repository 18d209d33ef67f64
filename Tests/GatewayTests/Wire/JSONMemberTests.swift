import Testing

@testable import GatewayService

@Suite("Whether a JSON object has a member")
struct JSONMemberTests {
    private func hasPassword(_ text: String) -> Bool {
        Array(text.utf8).withUnsafeBytes { JSONMember.isPresent("password", in: $0) }
    }

    @Test(
        "It has, however it is written",
        arguments: [
            #"{"password":"x"}"#, #" { "a" : 1 , "password"  :  "x" }"#, "{\r\n\t\"password\"\r\n:\t1}",
            #"{"p\u0061ssword":"x"}"#, #"{"\u0070\u0061\u0073\u0073\u0077\u006F\u0072\u0064":"x"}"#,
            #"{"a":{"password":null},"b":["password"],"password":"x"}"#, #"{"a":"\"}","password":"x"}"#,
            #"{"a":"\\","password":"x"}"#, #"{"password":null,"password":"x"}"#,
        ])
    func present(text: String) {
        #expect(hasPassword(text))
    }

    @Test(
        "It has not: the member is another object's, is a value, has another name, or is null",
        arguments: [
            "", "{", "{}", #"{"a":{"password":"x"}}"#, #"[{"password":"x"}]"#, #"{"a":"password"}"#,
            #"{"a":["password"]}"#, #"{"passwords":1}"#, #"{"passwor":1}"#, #"{"Password":1}"#, #"{"password":null}"#,
            #"{"a":"\"password\":1"}"#, #"{"p\u0161ssword":1}"#, #"{"p\/assword":1}"#, #"{"password"#, #"{"password\"#,
            #"{"\u00"#, #"{"\uzzzz":1}"#, #"{"password""#,
        ])
    func absent(text: String) {
        #expect(!hasPassword(text))
    }
}
