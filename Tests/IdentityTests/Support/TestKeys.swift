/// Keys that protect nothing: ``FakeApple`` signs with them.
enum TestKeys {
    static let first = """
        -----BEGIN PRIVATE KEY-----
        MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDJ8AJ1pSpQe/MN
        lXVhBT22LR75GrUdfFp3fbfMx82HWzo9dXj8iCLgknVPOHy52tWlKCDLDe1zi+yj
        YibEITpT6vFWDcjMQ4/RJksR29bHBlbZwcNTf6ykEuQlVX0VcG1ApriFs+lvKSCC
        XFox7CsLuy0dpp9ow4kK5bbn0ADQQbkKuXJ4n1pDxtuBGkh0bSpR+f76hWk0vfED
        T4nTIrfgtz375sJgMeRCCUT2eDmE5VdU54vZbVTu1VskMN14vl+QPkDMlyyhIwc1
        SxVjJfHlY16/MViNtZPOuG0mOZvqyrrAywkQapffJ/Sdb4ev1bfn62sCOyS7dkh2
        81Mp0+Y/AgMBAAECggEAPpyMJq3vUMUdtziADHTzjWiwEcyWG25THnl8Y6IPt8gx
        ZpzlxmbvaXH/rXB2O6n+VBb9E/hdh1X7KS1ll6o1y48tBOGBQNQx40dcP01Kaqss
        gpfxWBJeFQFGe8zl25/gQAtxawM9fZni2oiH7rKrJhgDBQ6EnpcCBr7y1y1HE0q/
        nIUCbDks04NJnOOVwg5Xjb1XyeSJ5iQqaZ+zPreNDa4/g2jJWIUSuAYBIxzgOIOA
        wjKFvbmwsa5P5geM96Pc221n3s+/qOhk7amJ0zONCaUcuOemCQyCSFilNmNgRTcI
        AfH2R39rf6DAXlwJt3YXT3b/SZAWCJBCsaSQx4KqAQKBgQD9wb6Pf/yDzusj5HyN
        6ouy7GqgZbJBhgn3HR4fNpckK81gNzvxfhIKE980a9JOQ/bUcZ5F5hpzyKxc9AEd
        SWkvaoOhuw8BtvdaydlhDanrlficuPZCYGh7IeA8d+P9xWpvysuzGJfioobXbiO2
        Dhi5X62V7wjue9CK47WzfTcPqQKBgQDLuP9VptooItDeT9n3V9apb8dWbVzIZ5JO
        YwrA58xV9XoHEfeoJhM2icVdBnCpRVHFVfDiKvcu0E1BqT037jaxkT2aetwKwVnc
        hRA/3WECt5qnCc3YsBdVsPCciSLwR8Dh084/4JH29lO1liUDx6MBr/kcbOeiYqRj
        phjoFsyXpwKBgQDNqsMFUYlbV1DThXPCHjBdsyn0mJgybS4UgCAS0k8LvQi3C+1k
        nHaIfnSw6xbH4mPi6beLFaWo5CN3LzjcAMzk5mKLqa3PCPlQNzsdY1KuI54df/fv
        8m2cJue0esNpwiCzPN1+addok6vQXW9KNgCp9jcdx2Ao0mdCuq5hLIJ9CQKBgH6i
        doWlfAJq8e7fMBxiS5tzUjPVM1GXoAh95FdZP1lHiB0Q/CNX16WVKkvTDwEJh/Tk
        oSHVl2VQMlXYf6deujzSjbqTGGjPG67KP/mTARSRUN74Zy6E91xa6pZDYKZ/09QM
        ty5ZyCH9qLc9p7CbziXkXzNeNvZn3svamazbTz4NAoGAFGx7gCif5L+JyQEelcM7
        dS3fvrCZJp7/kEEj5ti2AifNeXGCVi8FIXv/mlfdcLeD6jyjpJkMpWh1szXHzZjU
        tlCuXFeaPeTusIvFU1uWnnj1dFc4CUlcWUdEIjCabCo9/wrPpjqiI2Ixg4Vwkion
        eJUK9AoiO2mUbFK4HqHwSl4=
        -----END PRIVATE KEY-----
        """

    static let second = """
        -----BEGIN PRIVATE KEY-----
        MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQClza6V6g99j5Ep
        k4VwCR+G3DaYNjAsaV0IC78w6KCvoW41RA8QULs7xOkvXrKmObX4t21Xaq39K0/e
        aM6pRYzwSKwUy/EghmLAk/iBLfhyMWxcUzAqbftlFRKpkT7uxAQGdRUZm3s0m8qe
        RA1DUWU5TnohWJAs3VwBaBcqXCQ8/tPpvg/M7LCbaICHW7dbJc0fewpLGbKRNY+Z
        H0Ndar04KGHSdDf6+EKgyFYA10YTEjzsQ0VBCGxoifogTn93q7H/AeqOvG3P/eeB
        Zb7NypIc0cU2+xTmbztbGIHJG7eSEqsZCTxAgXVfyERyGNRR1RlcESrGCfN8YLrV
        0EkOSdWdAgMBAAECggEAEesM+4mMfALIashVCtsJi67/vWpZwWrvkV+HnXb+aoyV
        Fu+QezBmU5q/oo1m3Bzvg/36tJBEVlBYdM45y0RHa25HHoY9vEiZons7R2aa62hY
        8A9TbLpvCSkCV83pEa+gSbxcd+R8J57QglMTZduFh3BqNXFXP2n6t/IyUrMbfXXW
        BekkHKvyAYe7w+soC52zAYlyzrC3BY9Dov8Q3F91F7b3FMTf4DmTxwgyx1liEqmh
        9Npx3k4/dwu7jSU/1hpnFP72NAbig2LQ+miPILpR7cTfxRl2HLjnd/PnBvESyd6F
        KUAyGGg6b8pGaJztFuhQTnyu3osBFPZJzfNKSAk+BwKBgQDYnxUqnGp4uNdW/Y5r
        DgHBC+UpQRvdwqKk+DYV6/7MpAnvhLYY++wFAHb7f/uBeI/RJN1pgi5CCkSq5GS3
        yTr26xYLJYM6prJeIYOH4un0HhDQyE99rZ6IR25mk1eBjEsvF0daWdgO4/C+chcx
        cTo8U3Kli+/DkL1jsxwEEOUc5wKBgQDD8a6NHB7dvTz8qIKkFrcL1UEbB4PHUJQj
        a/NSS6f/I5P7EcwMxn//EpepyWDgV/CyR/PiQr4f++AwbKmavWn7oyDDq3mOKmv2
        x1SdDdmZa2VcYzQtOAT6G5XB0/iq9II16TzkEOdueKKnT+TNjZUXKagRaKmEcqC6
        b76nJiWE2wKBgQCnmnaTEJDktQeQPAC8XgsHZX+6arD35QdYot+eGIl9ppI1azZF
        oG2d9R0aPIzJQRHtXRue7eWCnVVB8BLpjF39/CiDGVQuxhmN8VpGglBH3Bdgowu2
        DuZxROtrnCcBih4F4noHsyoTY1O61qWRUK0hTeOPqPUrGEsg380WbEgJEwKBgFTt
        Cl+kwYgP/j/v9XeTVNDvJCHH9wjLVvmnTzXrDqxZyki2pP8ghdeTQmLXooJ5+xv6
        ba0yil8odznlzvj/gdEMGiZUywGgR10VdgoAN8D0OGF7qeCzeAzDKfxxmETYZxtg
        tQCQhw5tgOoNibjB1c3NQ0gQWfDLEfjceADQWtCjAoGASiRXNrUgHMuWQUCCIa0q
        n3cDNjHeG6xL+OsQIT4D8++TBMP1B3KoeEC1Dels3J1y8uv/140m/Q8RGzFWz1Yy
        XJoJ+siTIKHml/tfPFz4FHF6cOHv9l/QaHCMdc9ogmK2pAzcf7TN52z66Haz/SVU
        jPTYRvMPyYYy24cIKMFJs+w=
        -----END PRIVATE KEY-----
        """

    /// The team's own key with Apple (P-256).
    static let clientSecret = """
        # development
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg7QaVHkrEc/yfRFTx
        DnaiYzDUFxh8IiWc+w2R5uXo9U6hRANCAAT6EOiRpXF6dQGm081Mjmct1A5ANI8/
        7dqdydgNq/2mNiqiMvtbb0YVLhG/gT4CFvLDU42R50v0uC2SPCR5JiEk
        -----END PRIVATE KEY-----
        """
}
