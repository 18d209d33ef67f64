import Testing

@testable import IdentityCredentials

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
        // The same as `firebase auth:export` writes it: base64 with padding.
        (
            "$firebase-scrypt$ln=14,r=8,sep=Bw==$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAj"
                + "Tdn3aoItz+VHjoZilo78198JAdRuid5lQ==", "user1password"
        ),
        // The tests of Supabase's auth (`internal/crypto/password_test.go`), which writes the signer key into the hash.
        (
            "$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=ou9tdYTGyYm8kuR6Dt0Bp0kDuAYoXrK16mbZO4yGwAn3oLspjnN0/c41v8xZnO1n14J3"
                + "MjKj1b2g6AUCAlFwMw==$C0sHCg9ek77hsg==$zKVTMvnWVw5BBOZNUdnsalx4c4c7y/w7IS5p6Ut2+CfEFFlz37J9huyQfov4ii"
                + "zN8dbjvEJlM5tQaJP84+hfTw==", "mytestpassword"
        ),
        // Spring Security writes the algorithm before the hash.
        ("{bcrypt}$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe", "a"),
        // Werkzeug 3.1.9.
        (
            "pbkdf2:sha256:1000$S97PJzrDSPYaAGgA$89ed8d3e02b616dee4b7f9169efde946eb7505bfd01757bdb31990b756b69df9",
            "tulpenzwiebel"
        ),
        (
            "pbkdf2:sha512:1000$aoJwGNW6tu6Jrh10$e3ee20c091b4146d4da43472596c6c5cb141af49dfcf33b7a8e589b405d758c5a73268"
                + "879cd3dab41bccb039a0f0c0eeb321ba62be69fc8dfdd8cee3dc1a7736", "tulpenzwiebel"
        ),
        ("pbkdf2:sha1:1000$tiVIFm1rMxBoicsF$2abd38fe3d1738633726ca011d060cc840e4765f", "tulpenzwiebel"),
        (
            "scrypt:16384:8:1$NAF7iXEbhKUXcJ1x$3298b13798f3b776f0427c06923e7d888e41ca86e4d190b1efd70ff6c726ad30984d90d1"
                + "db8b2678010ea761ecff63e2931d012ba14eb221ca281bd31f0525c7", "tulpenzwiebel"
        ),
        // ASP.NET Core Identity's tests (`PasswordHasherTest.cs`): SHA-1, SHA-256 and SHA-512.
        ("AQAAAAAAAAD6AAAAEAhftMyfTJylOlZT+eEotFXd1elee8ih5WsjXaR3PA9M", "my password"),
        ("AQAAAAEAACcQAAAAEAABAgMEBQYHCAkKCwwNDg+yWU7rLgUwPZb1Itsmra7cbxw2EFpwpVFIEtP+JIuUEw==", "my password"),
        (
            "AQAAAAIAAAD6AAAAIJbVi5wbMR+htSfFp8fTw8N8GOS/Sje+S/4YZcgBfU7EQuqv4OkVYmc4VJl9AGZzmRTxSkP7LtVi9IWyUxX8IAAfZ8"
                + "v+ZfhjCcudtC1YERSqE1OEdXLW9VukPuJWBBjLuw==", "my password"
        ),
        // Keycloak's `pbkdf2`, made with Python's hashlib: four blocks of SHA-1.
        (
            "$pbkdf2-sha1$i=1300000$c2FsdCBvZiBrZXljbG9haw$5K3iLU+621f/pb771PzQbvl0JkoG3msERQMAe2R9NnZsDaPZziVJw72aDJk3"
                + "YJP9CMxrO6KzduPDpag1X3JWeA", "tulpenzwiebel"
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
    private static let werkzeug = published[index("pbkdf2:sha256")].text
    private static let werkzeugScrypt = published[index("scrypt:")].text
    private static let aspNet = published[index("AQAAAAE")].text
    private static let spring = published[index("{bcrypt}")].text
    private static let supabase = published[index("$fbscrypt$")].text
    private static func index(_ prefix: String) -> Int { published.firstIndex { $0.text.hasPrefix(prefix) }! }
    private static let argon2 = "$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA"

    @Test(arguments: [
        (bcrypt, "$06$", "$04$"), (bcrypt, "$06$", "$14$"), (scrypt, "ln=14", "ln=17"), (scrypt, "p=1", "p=16"),
        (scrypt, "ln=14,r=8,p=1", "ln=17,r=8,p=2"), (pbkdf2, "600000", "2000000"),
        (pbkdf2, "i=600000", "i=600000,l=32"), (pbkdf2, "sha256$i=600000", "sha1$i=2000000"),
        (werkzeug, "1000", "2000000"), (werkzeugScrypt, "16384", "131072"), (firebase, ",sep=Bw", ""),
        (firebase, "ln=14", "ln=17"), (argon2, "m=65536", "m=131072"),
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
        (passlib, ".6UI", "+6UI"), (passlib, "6400", "x"), (passlib, "$6400", "$6400$"), (passlib, "DD44", "DD4"),
        (django, "sha256", "sha224"), (django, "saltOfDjango1", ""), (django, "1000", "9999999"), (django, "BY=", "BY"),
        (firebase, "ln=14", "ln=18"), (firebase, "sep=Bw", "sep=B"), (firebase, "r=8", "r=8,p=1"),
        (firebase, "$firebase", "x$firebase"), (argon2, "m=65536", "m=131073"), (argon2, "t=2", "t=11"),
        (werkzeug, "1000", "2000001"), (werkzeug, ":1000", ""), (werkzeug, ":1000", ":+1000"),
        (werkzeug, "sha256", "md5"),
        (werkzeug, "69df9", "69df"), (werkzeug, "89ed", "89eg"), (werkzeug, "$S97PJzrDSPYaAGgA", "$"),
        (werkzeug, "$S97P", "$S97P$"), (werkzeugScrypt, "16384", "16383"), (werkzeugScrypt, "16384", "1"),
        (werkzeugScrypt, "16384", "262144"), (werkzeugScrypt, ":8:1", ":8"), (werkzeugScrypt, ":8:1", ":8:1:1"),
        (werkzeugScrypt, ":8:1", ":0:1"), (werkzeugScrypt, "16384", "-16384"),
        (aspNet, "AQAAAAE", "AAAAAAE"), (aspNet, "AQAAAAE", "AQAAAAM"), (aspNet, "AAAAEAAB", "AAAB/AAB"),
        (aspNet, "CcQA", "AAAA"), (aspNet, "AQAAAAEAACcQ", "AQAAAAH/////"),
        (aspNet, "yWU7rLgUwPZb1Itsmra7cbxw2EFpw", ""),
        (aspNet, "==", "="), (spring, "{bcrypt}", "{noop}"), (spring, "{bcrypt}", "{bcrypt}{bcrypt}"),
        (supabase, "v=1", "v=2"), (supabase, "n=14", "n=18"), (supabase, "p=1,", ""), (supabase, "p=1", "p=2"),
        (supabase, "ss=Bw==", "ss=B"), (supabase, "sk=ou9t", "sk=ou9t==="), (firebase, "bNgf046w", "bNgf046w="),
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
