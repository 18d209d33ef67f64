/// Keys made with the openssl command, none of them good for access tokens. They protect nothing.
enum UnfitKeys {
    static let rsa1024Private = """
        -----BEGIN PRIVATE KEY-----
        MIICeAIBADANBgkqhkiG9w0BAQEFAASCAmIwggJeAgEAAoGBAO64o3IpkAHHcjGR
        GlHDqlrEGf0ySTtwwMFerChrqy5AouY+e+MB2/bqRM3wDERUIzstAX0KTAYNeMuI
        tX1cbEMGJpzC6fHalCZGF8bNDOdK6aNhG57kpzKWqVx+SJ47677QDuDC0USIn4PK
        BJM5Ir40c11PetNhn3A65/QmtC9pAgMBAAECgYEAlcF8v4x1S7hr2c52XV7LCr/E
        sgMOz9wu/9+9Tmok7BIeXyRJoaIz9JUIbsytVVwW8fOM4H1KLe3bnot3l1oYi0kf
        6r88vVv2rX7Fl5SduFWE5UiNopGkOmruIRqHv1aExyzlL4Zg/IbKTA/DhZ5mA6fC
        pzSs5eDUrv+AJWs26aUCQQD8YSs9exiS/F1dC/cKvtrOp8kke6WPqAkGTj9o9dRH
        2uy0aJWSwnWEKM4KrRlh28ZCcf2mQFkR3ipvDWhjSF7zAkEA8iVPpyw02hoG1R0h
        1RbOMQsCMn6XdViNltps4yfM3z+9utvfR/DAtbPoQ7y9MjI258KtROPcQO6MYBFi
        pvTnMwJBAOpTieNGlJV8rW8D+fbHJ79yd8Zg62KLgP2Szzsz7EpfESGcbSvbU2NG
        w6+T8poyhU0SK5Ed89UsMrfzefWcr1MCQQC5hABskZ/EYSBO8kzTVu+N/2MlkHs1
        eiywIJQ/zGRXvhv8Jyv/j+H00+rkypsg8/vAwBPDrdc3IAwIJgmw4/ylAkBlF5CW
        p39Y34DiiAgrXN2PpqxkCkV2nsZyOwMqhBjJhtWct9vHpLsQB0dTIigCw99sXlB9
        pe89J/SGrhKxEBk6
        -----END PRIVATE KEY-----
        """

    static let ecPublic = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEhz6Alx5TjYNHUyCirH4y05P1C+7s
        s7twBx1YTyPh60hVfuAHoLNLDJSMHoOs4EwBsMlDF/6ZoDleO+8ev+Ryow==
        -----END PUBLIC KEY-----
        """

    static let pssPublic = """
        -----BEGIN PUBLIC KEY-----
        MIIBIDALBgkqhkiG9w0BAQoDggEPADCCAQoCggEBAMV0gjQSbyFig2wFfidLHN0F
        k3A/pP5B2B1/yDcW3BaYcLFZOxTf2KzvjTo/tkwqIJAI5SMCWd5FKk8P7Vlpha+n
        6KdEwlDHdKrnVIBPrdKTP3K3AcOMumjDPKNQGDGhPhM0c6Y2I1mA92CRXSf2kfXY
        SU3JU6n0zFQePsuI3NgwuGdPnsGBKeKT4eNfo9eheDKlpOPL5FUgX4ehV1KE1rDS
        Uon9LS1sRZ3vNMeci88FzGJricPJ36PnP+K6dQ8XqMmaVDlAXc4U6vizkKAo03n1
        yZxU+S1w8Z6tjCvHib36tLi1L6pUs0NsyvADGfteTg3EC1jZGxSs+y1/rMuFCBcC
        AwEAAQ==
        -----END PUBLIC KEY-----
        """

    /// Its password is "secret".
    static let encrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIIFLTBXBgkqhkiG9w0BBQ0wSjApBgkqhkiG9w0BBQwwHAQIyFfo3r8mEq8CAggA
        MAwGCCqGSIb3DQIJBQAwHQYJYIZIAWUDBAECBBAwXwHuD/PP3/Yy9+Hxa6T8BIIE
        0D5Mj1cKA+eQvny5f02Yt0yMQc4cozyo41WM6OU3eEIly6J9RfPj2lMnnG+hdCZL
        lDNLPmPoIub3Yyfgd42YYxejYe5FZxGHaeChVN55LTaY90WhhL0FoVIXMv5A1ZJH
        e1YmYqDIhjgDxsTNrI9HflsJDsx78sb+RH8TqzO8mtMOkAu6Ts05XvkGgAfZELQn
        xxSSaDbU+lwpL4aDGlxObdTD2FaQsnjOsu8lHRASk+gvybdFYTQJHvLG3+lXRNRs
        lRpWfrB1HJIvyAjr7DCcANdHIizfXiC93ud2RQObHeufd8pQvxYGSbJCcX0TN7f1
        mImLahvhfkf9iz4WwXZFb8LBsf0DvWcgNosNMWuJiyjG6629UhvWhuKCfKV+kNUK
        JMKF33TmfOgOcQ1uRZoN/+YB72j3MbHFHW81rjP+V3nqjtVoXgCMzP3kxkOAXs0z
        e2Zwx7WvykF6fFatoVMheDTx7M+VlWcsrRnqJWLIhU93L2w7bIvcTnCf3r1l+Hcd
        gH/NfaZIV2yk5oOuNMxKE7hcO8JbBcp5AL4iQP2r7KmMLIsN8mvNq4WiW9QCC/1N
        LGOYoM17W2lKS9zIY6pC2+Tmmz0Q5POH5GMkNr8CAgLqfBxUfgAunSSvt0AIgdxq
        hR69NFtAz1y+yIZsZcYzOP3aRwjCyoY3M2SdU2F98rMknYKjn5YhYqQG8ST9ObuK
        kV6XfuVIQ6W+2JIb4rAkTMdnMivGbOqg8HgJQj12HFljfIv4uhCFmMLnRtzo/jEK
        l1P2Bc/DDxDq0lF+r67E3dtbVnwxCBy/T1Yn5RL7Jkopdsu/XoxZ3vSJrd2oN8N9
        k/JSFyc3Kl6uObtkpuIcWGbVUAsNcHuY7Nr0veJJdNAn1BVg1UpRoNa+aBtroCzd
        AMCOIaYlRTqD1JqwuEj9U0oqIgcuwS4HQSOpMB4TcY1hKBeUDnne07iJT0HJlArd
        bvqy35FVbbd9NZZEvlih5G+qkydNBFNSlKSe9mlwyLrQAS55uks7N+lOTLPxLyUV
        mIhYqT1oTtT8wU0/Gjb6aGZdJ/b/tosm6MeX1wT5yGxSNZlrWQYp7CegU3jevYPE
        84MGtrWeq5RKN1hZVFrAA2j8+A/ioU650vzYwo4IV+cmQX26YbzzrqUG1Zb52jYA
        ejVZR1t6QgU/CJ1Y9PTH+cwwdeo89qxT+6qKBRdEVhSOC6KH0emQ+ziY3kFdgyud
        5GTYGX9L17SaKs1+UwF3TsUOl2X0RrFwMQZuBrRjumHcfObhcfnjMyvzON6x/Lf2
        a8vjj8WxSX7Vitw5HjwUEYby9guQB+j5MUOdT/1kLKiPYgbAz9QPogVE6Xzw/ssS
        PSw4JPZgAsP4MCy185ofNsgu7y2ahnIBzEh6T8p06OX3qvdGBNTK9Kp/eqcSO9X4
        TM5GkCXuCit5LS/dW9pXCk3GpxIpc7RtwkRjXTz+ytvqoMt5CePUURXmBquNnFg6
        2viDoKYfFbccZpSglfGfHGQIMS2xoyDjzeFhAZo/OMzLCbDOzNqGMa8CswzYfrfV
        Cdz2zLtsgRiRfgjkP4LJI1UD94BVdi202PUX5+4n9kS8h3NjA/3SAOnpa4wZuu3J
        Z5HWdhvPf0zVwRIEzKzrjTkExbzW7Fj9TwlNODmmgHBu
        -----END ENCRYPTED PRIVATE KEY-----
        """
}
