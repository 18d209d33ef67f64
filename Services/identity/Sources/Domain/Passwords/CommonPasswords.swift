/// The passwords of eight characters and more that are tried first. A corpus of leaked passwords would be gigabytes; the
/// first of them are enough, because attempts are limited.
enum CommonPasswords {
    /// - Parameter password: in lower case.
    static func contains(_ password: String) -> Bool {
        words.contains(password) || isRun(password)
    }

    /// `abcdefgh`, `87654321`: each scalar one above or one below the last.
    private static func isRun(_ password: String) -> Bool {
        let values = password.unicodeScalars.map { Int($0.value) }
        let steps = Set(zip(values.dropFirst(), values).map { $0 - $1 })
        return steps == [1] || steps == [-1]
    }

    private static let words: Set<String> = Set(
        """
        1234567890 12345678910 123456789a 1234qwer 123qweasd 12341234 123123123 1234567891 0123456789 1qaz2wsx 1q2w3e4r
        1q2w3e4r5t 1q2w3e4r5t6y 1qazxsw2 147258369 11223344 123321123 12344321 159753258 18atcskd2w 1g2w3e4r 31415926
        87654321 88888888 99999999 987654321 9876543210 741852963 789456123 963852741 a1234567 a12345678 a123456789
        aa123456 aa12345678 abc12345 abc123456 abcd1234 access14 admin123 admin1234 adminadmin administrator alexander
        asdasdasd asdf1234 asdfasdf asdfghjk asdfghjkl babygirl babygirl1 barcelona baseball baseball1 basketball
        beautiful benjamin bismillah blink182 brooklyn butterfly carolina caroline cdtnkfyf changeme changeme1
        charlie1 chelsea1 chocolate christian christopher cocacola computer computer1 consumer corvette courtney
        creative danielle december destiny1 dolphins dragon123 drowssap einstein elizabeth energizer explorer
        fernando fifa2012 firebird flamingo florence football football1 franklin freedom1 friendship garfield
        getmein1 godzilla goldfish gladiator google123 guardian hello123 hello1234 helloworld iloveyou iloveyou1
        iloveyou2 iloveyou! infinity internet isabella jennifer jessica1 jordan23 justinbieber katherine kristina
        lebron23 leonardo letmein1 letmein123 lifehack liverpool liverpool1 logitech lovelove loveyou1 maradona
        marlboro maverick mazda323 mercedes metallica michael1 michelle midnight minecraft monkey12 monkey123
        mountain mustang1 mynoob123 napoleon nicholas nintendo notebook november olivia123 p@ssw0rd p@ssword pa55word
        pakistan paradise parol123 pass1234 password password! password! password. password0 password01 password1
        password1! password11 password12 password123 password1234 password2 password3 passw0rd passwort passwort1
        patricia phantom1 pokemon1 pokemon123 portugal princess princess1 q1w2e3r4 q1w2e3r4t5 q1w2e3r4t5y6 qazwsx123
        qazwsxedc qwe12345 qwer1234 qwerqwer qwert123 qwerty12 qwerty123 qwerty1234 qwerty123456 qwertyui qwertyuiop
        qwertyuiop[] qwertz123 qwertzuiop rainbow1 rockstar rolltide samantha samsung1 scorpion secret12 secret123
        security september serenity shadow12 shannon1 slipknot softball sometimes spiderman starcraft startrek
        starwars starwars1 stephanie strawberry success1 sunflower sunshine sunshine1 superman superman1 superstar
        swordfish telefono test1234 testtest thunder1 tigger12 tinkerbell tottenham trustno1 undertaker valentin
        valentina vanessa1 veronica victoria vkontakte warcraft welcome1 welcome123 westside whatever william1
        wolverine yamaha12 yankees1 yellow12 zaq12wsx zaq1zaq1 zxcvbnm1 zxcvbnm123 zxcvbnm, zzzzzzzz
        correcthorsebatterystaple
        """.split(whereSeparator: \.isWhitespace).map(String.init))
}
