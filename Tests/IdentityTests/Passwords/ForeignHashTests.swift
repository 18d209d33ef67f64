import Testing

@testable import IdentityService

@Suite struct ForeignHashTests {
    /// Hashes that the formats' own documents give, and of which password they are.
    static let published: [(text: String, password: String)] = [
        // crypt_blowfish's and jBCrypt's tests.
        ("$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U"),
        ("$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe", "a"),
        ("$2b$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe", "a"),
        ("$2y$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe", "a"),
        // RFC 7914 §12.
        (
            "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofLVQylVYT8Pz2LUlwUk"
                + "Kpr55h6F3A1lHkDfzwF7RVdYhw", "pleaseletmein"
        ),
        // passlib's documentation.
        ("$scrypt$ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E", "password"),
        ("$pbkdf2-sha256$6400$.6UI/S.nXIk8jcbdHx3Fhg$98jZicV16ODfEsEZeYPGHU3kbrUrvUEXOPimVSQDD44", "password"),
        // RFC 7914 §11, RFC 6070.
        (
            "$pbkdf2-sha256$i=80000,l=64$TmFDbA$TdzY9guYviGDDO5e8icB+WQaRBjQTAQUrv8Ih2s0q1ah1CWhIlgzVJrbhBtRybMXaicr3ru"
                + "h0HhHj2Kzl/M8jQ", "Password"
        ),
        ("$pbkdf2-sha1$i=4096$c2FsdA$SwB5AbdlSJq+rUnZJvch0GWkKcE", "password"),
        ("$pbkdf2$4096$c2FsdA$SwB5AbdlSJq.rUnZJvch0GWkKcE", "password"),
        // Made with Python's hashlib, in Django's form.
        ("pbkdf2_sha256$1000$saltOfDjango1$gnPL3oYv3MefhGYaVI6ZaveYUyeIf3yZ5YRB2LRbkBY=", "tulpenzwiebel"),
        (
            "$pbkdf2-sha512$i=1000$c2l4dGVlbiBieXRlcyBvaw$3McmD9nzrcwMTqaeKIw/AWZM128lPyIR+2m1U9I8NYRXidZGAz1eRo9oasP+"
                + "ZZs/dRvFKyeherCUADai2DmYwQ", "tulpenzwiebel"
        ),
        // The README of Firebase's scrypt.
        (
            "$firebase-scrypt$ln=14,r=8,sep=Bw$42xEC+ixf3L2lw$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3a"
                + "oItz+VHjoZilo78198JAdRuid5lQ", "user1password"
        ),
        // The reference implementation's tests of Argon2 (`src/test.c`).
        ("$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA", "password"),
        ("$argon2i$m=65536,t=2,p=1$c29tZXNhbHQ$9sTbSlTio3Biev89thdrlKKiCaYsjjYVJxGAL3swxpQ", "password"),
    ]

    @Test(arguments: published)
    func readsWhatOthersWrite(text: String, password: String) {
        #expect(ForeignHash(text) != nil, "\(text)")
        #expect(PasswordHash(text) == nil)
    }

    private static let bcrypt = "$2b$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe"
    private static let scrypt = "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofI"
    private static let pbkdf2 = "$pbkdf2-sha256$i=600000$c2FsdHNhbHQ$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofI"
    private static let passlib =
        "$pbkdf2-sha256$6400$.6UI/S.nXIk8jcbdHx3Fhg$98jZicV16ODfEsEZeYPGHU3kbrUrvUEXOPimVSQDD44"
    private static let django = "pbkdf2_sha256$1000$saltOfDjango1$gnPL3oYv3MefhGYaVI6ZaveYUyeIf3yZ5YRB2LRbkBY="
    private static let firebase = "$firebase-scrypt$ln=14,r=8,sep=Bw$42xEC+ixf3L2lw$cCO9yzr9c0hGHAbNgf046w"
    private static let argon2 = "$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA"

    @Test(arguments: [
        (bcrypt, "$06$", "$04$"), (bcrypt, "$06$", "$14$"), (scrypt, "ln=14", "ln=17"), (scrypt, "p=1", "p=16"),
        (scrypt, "ln=14,r=8,p=1", "ln=17,r=8,p=2"), (pbkdf2, "600000", "2000000"),
        (pbkdf2, "i=600000", "i=600000,l=32"),
        (firebase, ",sep=Bw", ""), (firebase, "ln=14", "ln=17"), (argon2, "m=65536", "m=131072"),
        (argon2, "v=19", "v=16"), (argon2, "argon2i", "argon2d"),
    ])
    func takesAsMuchWorkAsOthersAskFor(hash: String, part: String, replacement: String) {
        #expect(hash.contains(part) && ForeignHash(hash.replacing(part, with: replacement)) != nil)
    }

    @Test(arguments: [
        (bcrypt, "$06$", "$03$"), (bcrypt, "$06$", "$15$"), (bcrypt, "$06$", "$99$"), (bcrypt, "$06$", "$+6$"),
        (bcrypt, "$2b$", "$2x$"), (bcrypt, "fxe", "fx"), (bcrypt, "fxe", "fxeA"), (bcrypt, "fxe", "fx$"),
        (bcrypt, "m0Cr", "m0é"), (scrypt, "ln=14", "ln=18"), (scrypt, "ln=14", "ln=21"), (scrypt, "ln=14", "ln=64"),
        (scrypt, "ln=14", "ln=-1"), (scrypt, "r=8", "r=33"), (scrypt, "r=8", "r=0"), (scrypt, "p=1", "p=17"),
        (scrypt, "p=1", "p=0"), (scrypt, "ln=14,r=8,p=1", "ln=17,r=8,p=3"), (scrypt, "p=1", "p=1,q=1"),
        (scrypt, "$ln", "$v=1$ln"), (scrypt, "ofI", "o="), (scrypt, "$U29kaXVtQ2hsb3JpZGU$", "$$"),
        (pbkdf2, "600000", "2000001"), (pbkdf2, "600000", "0"), (pbkdf2, "600000", "-1"), (pbkdf2, "sha256", "md5"),
        (pbkdf2, "i=600000", "i=600000,l=33"), (pbkdf2, "i=600000", "n=600000"),
        (pbkdf2, "sha256$i=600000", "sha1$i=2000000"),
        (passlib, ".6UI", "+6UI"), (passlib, "6400", "x"), (passlib, "$6400", "$6400$"), (passlib, "DD44", "DD4"),
        (django, "sha256", "sha224"), (django, "saltOfDjango1", ""), (django, "1000", "9999999"), (django, "BY=", "BY"),
        (firebase, "ln=14", "ln=18"), (firebase, "sep=Bw", "sep=B"), (firebase, "r=8", "r=8,p=1"),
        (firebase, "$firebase", "x$firebase"), (argon2, "m=65536", "m=131073"), (argon2, "t=2", "t=11"),
        (argon2, "p=1", "p=1,keyid=cDE"), (argon2, "v=19", "v=18"), (argon2, "argon2i", "argon2x"),
    ])
    func refusesWhatItCannotTrust(hash: String, part: String, replacement: String) {
        #expect(hash.contains(part) && ForeignHash(hash) != nil)
        #expect(ForeignHash(hash.replacing(part, with: replacement)) == nil)
    }

    @Test func refusesTextsWithoutEnd() {
        #expect(
            ForeignHash("pbkdf2_sha256$1000$" + String(repeating: "s", count: 2000) + "$gnPL3oYv3MefhGYaVI6Z") == nil)
        #expect(ForeignHash("") == nil && ForeignHash("plain text") == nil && ForeignHash("$1$salt$hash") == nil)
    }
}
