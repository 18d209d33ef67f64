/// The most common passwords of eight characters and more: two and a half times as many as an attacker has guesses at
/// one account on the first day. A corpus of leaked passwords would take gigabytes; an operator may configure one
/// (``PasswordFilter``).
enum CommonPasswords {
    /// - Parameter password: in lower case.
    static func contains(_ password: String) -> Bool {
        words.contains(password) || isRun(password)
    }

    /// `abcdefgh`, `87654321`: each scalar is one above or one below the previous one.
    private static func isRun(_ password: String) -> Bool {
        let values = password.unicodeScalars.map { Int($0.value) }
        let steps = Set(zip(values.dropFirst(), values).map { $0 - $1 })
        return steps == [1] || steps == [-1]
    }
}

extension CommonPasswords {
    /// The two thousand most frequent passwords of eight characters and more in Django's list
    /// (`common-passwords.txt.gz`, by Royce Williams), and some more.
    static let words: Set<String> = Set(
        #"""
        "zxcvbnm,./" 01020304 0102030405 0123456789 0987654321 0r968ji9ufj6 10203040 1020304050 1029384756 111222333
        111222tianya 11223344 1122334455 112233445566 11235813 1123581321 12131415 12301230 123123123 123321123 12341234
        12344321 1234512345 123454321 1234554321 123456123 123456123456 123456654321 12345671 1234567890 1234567890-
        12345678900 12345678901 1234567890a 1234567890q 1234567891 12345678910 123456789123 123456789123456789
        1234567899 123456789987654321 123456789a 123456789b 123456789c 123456789d 123456789j 123456789k 123456789l
        123456789m 123456789o 123456789p 123456789q 123456789r 123456789s 123456789t 123456789z 12345678a 12345678q
        12345678s 12345679 1234567a 1234567q 123456987 123456aa 123456ab 123456abc 123456as 123456asd 123456qq 123456qw
        123456qwe 123456qwerty 12345abc 12345abcde 12345qwe 12345qwert 12345qwerty 1234abcd 1234asdf 1234qwer 123654789
        12369874 123698745 123789456 123admin321 123hfjdk147 123mudar 123qwe123 123qweasd 123qweasdzxc 123qwerty
        12qw23we 12qw34er 12qwaszx 134679852 135792468 1357924680 14531453 147258369 147852369 14789632 147896325
        15426378 159753258 168asd168 18atcskd2w 19071907 192837465 19721972 19731973 19741974 19751975 19761976 19771977
        19781978 19791979 19801980 19811981 19821982 19831983 19841984 19851985 19861986 19871987 19881988 19891989
        19901990 19921992 19931993 19941994 19951995 19961996 19971997 19981998 1a2b3c4d 1a2b3c4d5e 1a2s3d4f 1andonly
        1asshole 1babygirl 1fr2rfq7xl 1g2w3e4r 1loveyou 1million 1myspace 1password 1princess 1q2w3e4r 1q2w3e4r5
        1q2w3e4r5t 1q2w3e4r5t6y 1q2w3e4r5t6y7u 1q2w3e4r5t6y7u8i9o0p 1qa2ws3ed 1qaz!qaz 1qaz1qaz 1qaz2wsx 1qaz2wsx3edc
        1qazxsw2 1v7upjw3nt 1zn6fpn01x 20082008 20092009 20102010 2012comeer 24681012 24682468 25251325 25802580
        29rsavoy 31415926 321321321 321654987 369258147 3children 3d8cubaj2e 3odi15ngxb 3rjs1la2qe 3rjs1la7qe 3rjs5la8qe
        421uiopy258 4815162342 5532361cnjqrf 5hsu75kpot 5xfgs3ii9d 69camaro 6hbf28w791 6v21wbgad 741852963 789456123
        7894561230 789654123 7ugd5hip2j 87654321 88888888 9-11-1961 92k2cizcdp 963852741 987456321 987654321 9876543210
        987654321a 99999999 a1234567 a12345678 a123456789 a1a2a3a4 a1b2c3d4 a1b2c3d4e5 a1s2d3f4 a838hfid aa123456
        aa12345678 aaliyah1 aaron431 ab123456 abc12345 abc123456 abcd1234 abcde12345 abcdef123 abcdefg1 abcdefg123
        abdullah abhishek abigail1 abracadabra access14 adgjmptw admin123 admin1234 adminadmin administrator adriana1
        agent007 agnieszka airborne airforce airforce1 airplane akatsuki akax89wn akopa123 alabama1 alberto1 alejandra
        alejandra1 alejandro alejandro1 aleksandr aleksandra alessandra alessandro alex1234 alexander alexander1
        alexandr alexandra alexandra1 alexandre alexandru alfaromeo alladin79 allison1 allstar1 amanda123 amandine
        amber123 america1 america10 american american1 amorcito amoremio amsterdam anaconda anamaria anastasia anderson
        anderson1 andrew12 andrew123 andromeda angel123 angelica angelica1 angelina angelina1 angelito anhyeuem
        annabelle anthony1 anthony123 anthony2 antonella antonio1 anything aobo2010 apollo13 apple123 applepie aquarius
        argentina arizona1 armagedon arschloch arsenal1 as123456 asd123456 asdasd123 asdasdasd asdf1234 asdf3423
        asdfasdf asdfasdf1 asdfg123 asdfgh123 asdfghjk asdfghjkl asdfghjkl1 asdfghjkl: asdfjkl: asdqwe123 ashleigh
        ashley12 ashley123 aspirine assassin asshole1 asshole2 atlanta1 atlantis attitude austin316 australia australia1
        awesome1 azerty123 azertyuiop azsxdcfv babyblue babyblue1 babyboo1 babyboy1 babycakes babycakes1 babydoll
        babydoll1 babyface babygirl babygirl1 babygirl10 babygirl11 babygirl12 babygirl13 babygirl2 babygirl3 babygurl
        babygurl1 babylon5 babylove babylove1 backspace badgirl1 baller23 bananas1 bangladesh barbara1 barcelona
        barcelona1 baseball baseball1 baseball10 baseball11 baseball12 baseball13 baseball2 baseball3 baseball5
        baseball7 baseball9 basketball batista1 batman123 bearshare beatles1 beatrice beautiful beautiful1 bella123
        benjamin benjamin1 bestfriend bethany1 bettyboop bettyboop1 bigdaddy bigdaddy1 bigdick1 billabong billabong1
        billybob birthday bismillah bitch101 bitch123 bitches1 bkl29m2bk blablabla black123 blackberry blackcat blackie1
        blackjack blahblah blahblah1 blessed1 blessing blink123 blink182 blizzard blondie1 blue1234 blueberry bluebird
        blueeyes bluefish bluemoon bobby123 bobmarley bollocks boobies1 boomboom boricua1 bradley1 brandon1 breanna1
        brianna1 britney1 brittany brittany1 brittney brittney1 broncos1 brooklyn brooklyn1 brother1 brownie1 brucelee
        bubblegum bubblegum1 bubbles1 buckeyes buddy123 budlight budlight1 bulldog1 bulldogs bulldogs1 bullshit
        bullshit1 business buster123 buttercup buttercup1 butterfly butterfly1 butterfly2 butthead butthead1 buttons1
        c43qpul5rz cadillac caitlin1 california calimero callofduty cambiami cameron1 campbell candy123 cannabis
        capricorn captain1 caramelo cardinal carebear carebear1 career121 carlitos carlos123 carolina carolina1 caroline
        caroline1 carpediem cartman1 casablanca casanova cashmoney cashmoney1 cassandra cassandra1 cassidy1 castillo
        catalina catfish1 catherine catherine1 cdtnkfyf cellphone1 champion champion1 chandler changeme changeme1
        chargers chargers1 charlene charles1 charlie1 charlie123 charlie2 charlotte charlotte1 charmed1 cheater1
        cheese123 chelsea1 chemistry cherokee chester1 chevelle chevrolet cheyenne cheyenne1 chicago1 chicken1 chicken2
        children chiquita chocolat chocolate chocolate1 chocolate2 chopper1 chouchou chris123 chrisbrown chrissy1
        christian christian1 christina christina1 christine christine1 christmas christmas1 christophe christopher
        ciaociao cinderella cinnamon cjkysirj cjmasterinf classof08 classof09 claudia1 cleopatra clifford cocacola
        cocacola1 college1 colombia colombia1 colorado colorado1 comeon11 computer computer1 consumer converse cookie12
        cookie123 cookies1 cooldude correcthorsebatterystaple corvette corvette1 country1 courtney courtney1 cowboys1
        cracker1 crazy123 creative creative1 cricket1 cristian cristiano cristina crystal1 cuddles1 cupcake1 cutie123
        cutiepie cutiepie1 cynthia1 d1lakiss d2xyw89sxj d71lwz9zjs d9zufqd92n daddy123 daddysgirl daisy123 dalejr88
        dallas214 damilola daniel12 daniel123 daniela1 danielle danielle1 danny123 darkangel darkness darkness1 darkside
        darkstar david123 dbrnjhbz dearbook death666 deathnote december december1 defender deftones delphine delpiero
        derrick1 designer desiree1 destiny1 detroit1 devil666 diamond1 diamonds diamonds1 dickhead dickhead1 dietcoke
        digital1 dingdong dinosaur diosesfiel dirtbike1 discovery disturbed1 diwtgm8492 dkflbvbh doberman dodgers1
        dolphin1 dolphins dolphins1 domenico dominic1 dominique dominique1 doraemon douglas1 download dpbk1234 dragon12
        dragon123 dragon13 dragonball dragonballz dragonfly dragons1 dreamer1 drjynfrnt drowssap drowssap1 drpepper
        drpepper1 drummer1 dthjybrf dumbass1 eastside eastside1 eclipse1 eduardo1 education eh1k9oh335 einstein
        ekaterina element1 eleonora elephant elephant1 eleven11 elisabeth elizabeth elizabeth1 elizabeth2 emily123
        emmanuel energizer engineer england1 enterprise ericsson esmeralda esperanza estrella eternity everton1 evildick
        evolution evony192 excalibur explorer f00tball facebook facebook1 faithful falcons1 farfalla fashion1 february
        federica federico felicidade fenerbahce fernanda fernandez fernando fernando1 ferrari1 fifa2012 fireball
        firebird fireman1 fishing1 fktrcfylh fktrcfylhf flamengo flamingo florence florida1 flower123 flowers1 football
        football1 football10 football11 football12 football2 football21 football22 football3 football5 football7
        football9 fordf150 forever1 forever21 formula1 fountain fqrg7cs493 francesca francesco francis1 francisco
        francois frankie1 franklin franklin1 freckles freddie1 frederic freebird freedom1 freestyle friday13 friends1
        friends2 friendship friendster fu7u4a#$$$ fuckfuck fucklove fucklove1 fuckme69 fuckoff! fuckoff1 fuckthis1
        fuckyou! fuckyou. fuckyou1 fuckyou12 fuckyou123 fuckyou2 fuckyou3 fuckyou69 fuckyou7 fuk19600 fuku00198 fussball
        fyfcnfcbz g13916055158 g9l2d1fzpy gabriel1 gabriela gabriele gabriella gabrielle galatasaray gangsta1 gangster
        gangster1 garfield garfield1 garrett1 gateway1 general1 genesis1 georgia1 geraldine germany1 geronimo gerrard8
        getmein1 getmoney getmoney1 ghbdtnbr giovanna giovanni giuseppe gladiator godbless godfather godisgood
        godisgreat godislove godzilla goldfish goldfish1 golfcourse gonzales gonzalez goodgirl goodluck google123
        gordon24 gorgeous gotohell grandma1 green123 greenday greenday1 gregory1 groupd2013 guadalupe guardian guillaume
        guinness gwerty123 h1xp2z2duk hallo123 halloween hamilton hamster1 handball handsome hannah12 hannah123
        happiness happy123 hardcore hardcore1 harrison harrison1 harrypotter hawaii50 heather1 hellfire hello123
        hello1234 hellohello hellokitty helloworld hercules hermione hernandez hernandez1 hershey1 highheel holiday1
        hollister1 hollywood hollywood1 homelesspa honey123 honeybee hongkong hotgirl1 hotmail1 hotstuff hotstuff1
        hottie101 hottie12 hottie123 houston1 hunter12 hunter123 hunting1 iamthebest icecream icecream1 icehouse
        idontknow idontknow1 ig4abox4 ihateyou ihateyou1 ihateyou2 ilikepie illinois ilovegod ilovehim ilovehim1
        ilovejesus iloveme1 iloveme2 ilovemymom ilovemyself ilovesex iloveu123 iloveyou iloveyou! iloveyou. iloveyou1
        iloveyou11 iloveyou12 iloveyou123 iloveyou13 iloveyou14 iloveyou2 iloveyou22 iloveyou3 iloveyou4 iloveyou5
        iloveyou7 imissyou immortal india123 indiana1 indonesia infinity information insanity interests international
        internet internet1 inuyasha inuyasha1 ireland1 ironmaiden ironman1 isabella isabella1 isabelle istanbul iverson3
        iw14fi9j j38ifubn jackass1 jackass2 jacket025 jackson1 jackson5 jacob123 jacqueline jaimatadi jamaica1 james007
        james123 jamesbond january1 jasmine1 jason123 jefferson jeffrey1 jellybean jellybean1 jennifer jennifer1
        jeremiah jeremiah1 jessica1 jessica12 jessica123 jessica2 jesucristo jesus123 jesus777 jesuschrist jesusislord
        ji394su3 jjcg16dj5k jobsearch johannes johncena johncena1 johndeere johnjohn johnson1 jonathan jonathan1
        jordan12 jordan123 jordan23 josephine juggalo1 juliette jumpman23 jundian2011xr just4fun justdoit justice1
        justin12 justin123 justinbieb justinbieber juventus ka_djkhjsy6 kaitlyn1 kamikaze karolina katerina katherine
        katherine1 kathleen katie123 katrina1 kawasaki kayleigh kennedy1 kenneth1 kevin123 keyboard kikeunyw killbill
        killer12 killer123 kimberly kimberly1 kingdom1 kingkong kingkong1 kingston kissmyass kissmyass1 kitty123
        kittycat kittycat1 kittykat komputer kristen1 kristin1 kristina kristina1 kristine krystal1 labrador lacrosse
        lacrosse1 ladybug1 ladygaga laetitia lakers24 lasvegas lasvegas1 laurence lavender lawrence layouts1 lebron23
        leonardo letmein1 letmein123 letmein2 libertad liberty1 lifehack lighthouse lightning lilmama1 lilwayne
        lilwayne1 lincoln1 lindsay1 lindsey1 linkedin linkedin1 linkedin123 linkinpark lionking littleman littleman1
        liverpool liverpool1 lizottes lkjhgfdsa logitech logitech1 lollipop lollipop1 lollypop lollypop1 london12
        london123 longhorns1 lorraine losangeles loser123 louloute love1234 love12345 love123456 love4ever love4life
        lovebug1 lovehurts lovehurts1 loveless lovelife lovelife1 lovelove lovelove1 loveme12 loveme123 lover123
        loverboy loverboy1 loveyou1 loveyou2 lovingyou lucas123 lucky123 luckydog m123456789 mackenzie madeline madison1
        madonna1 magdalena magnolia mahalkita makaveli makayla1 malaysia mamapapa manchester manunited maprchem56458
        maradona marathon margaret margarita maria123 marianna marianne marie123 marijuana marines1 mario123 mariposa
        marissa1 marjorie marketing marlboro marlboro1 marseille marshall marshall1 martinez maryjane maryjane1 master12
        master123 mastermind mathilde matthew1 maurice1 mauricio maverick maverick1 maximus1 maxwell1 mazda323 medicine
        megadeth megaparol megaparol12345 melanie1 melissa1 mercedes mercedes1 messenger metal666 metallica metallica1
        mexican1 mexico123 mexico13 miami305 michael1 michael12 michael123 michael2 michaela micheal1 michele1 michelle
        michelle1 michigan michigan1 microlab microsoft microsoft1 midnight midnight1 milagros million2 minecraft
        miranda1 mississippi mitchell mitchell1 mnbvcxz1 mohammad mohammed molly123 mommy123 monalisa money123 monique1
        monkey11 monkey12 monkey123 monkey13 monkey22 monkey69 monkeys1 monster1 montana1 montreal moonlight morning21
        morrison motdepasse motherfucker motherlode motocross motorola motorola1 mountain muhammad munchkin mushroom
        music123 musicman mustang1 my2girls my3girls myfamily mymother mynoob123 mypassword myspace! myspace. myspace.co
        myspace01 myspace1 myspace11 myspace12 myspace123 myspace13 myspace2 myspace3 myspace5 myspace7 n0=acc3ss
        n8zgt5p0shw= napoleon naruto12 naruto123 nascar24 nascar88 natalia1 natalie1 natasha1 nathalie nathaniel
        national naughty1 ncc1701d nevermind newcastle newcastle1 newlife1 newport1 newyork1 nicholas nicholas1 nichole1
        nicolas1 nicole12 nicole123 nightmare nightmare1 nintendo nintendo1 nirvana1 nks230kjs82 nokia123 nokia6300
        nonmember nopassword notebook nothing1 nounours november november1 nuttertools nyq28giz1z oblivion ocpoook325
        october1 ohmnamah23 oklahoma olivia123 omsairam onelove1 onepiece opensesame orlando1 oscar123 p0o9i8u7
        p3rat54797 p4ssw0rd p@ssw0rd p@ssword pa55w0rd pa55word packers1 paintball paintball1 pakistan pakistan1
        pakistan123 panasonic pantera1 panther1 panthers panthers1 papamama papillon paradise paradise1 paramore
        parol123 pass1234 pass1word passer2009 passer2011 passion1 passport passw0rd password password! password.
        password0 password00 password01 password1 password1! password10 password11 password12 password123 password1234
        password13 password14 password2 password21 password22 password23 password3 password4 password5 password6
        password69 password7 password8 password9 password99 passwort passwort1 patches1 patience patricia patricia1
        patrick1 patriots patriots1 pavilion pe#5gz29ptzmse peace123 peaches1 pearljam pebbles1 penelope penguin1
        perfect1 personal peter123 peterpan phantom1 philippe phillip1 phoenix1 pickles1 pineapple pineapple1 pingpong
        pinkfloyd pitbull1 pizza123 pk3x7w9w platinum platinum1 playboy1 player69 playstation poiuytrewq pokemon1
        pokemon12 pokemon123 polniypizdec0211 polniypizdec1102 polniypizdec110211 poohbear poohbear1 popcorn1 porkchop
        pornstar porsche1 porsche911 portugal pothead1 power123 precious precious1 predator presario president preston1
        prettygirl princesa princess princess! princess01 princess1 princess10 princess11 princess12 princess13
        princess2 princess3 princess7 princesse priscilla private1 priyanka professional project1 pumpkin1 punkrock
        puppies1 purple12 purple123 pussy123 pussycat q123456789 q1w2e3r4 q1w2e3r4t5 q1w2e3r4t5y6 qarglr123 qawsedrf
        qazwsx12 qazwsx123 qazwsxedc qazwsxedc1 qazwsxedc123 qazwsxedcrfv qazxswedc qdujvyg5sxa qq123456 qqww1122
        qti7zxh18u qw123321 qwe12345 qwe123456 qwe123qwe qweasd123 qweasdzxc qweasdzxc123 qweqwe123 qweqweqwe qwer1234
        qwerasdf qwerqwer qwert123 qwert12345 qwerty11 qwerty12 qwerty123 qwerty1234 qwerty12345 qwerty123456 qwerty321
        qwertyqwerty qwertyu1 qwertyui qwertyuio qwertyuio1 qwertyuiop qwertyuiop1 qwertyuiop[] qwertz123 qwertzuiop
        r2d2c3po rachelle radiohead ragnarok raiders1 rainbow1 rammstein rangers1 rastaman raymond1 realmadrid rebecca1
        rebelde1 redhead1 redneck1 redskins redskins1 redwings remember remember1 renegade research revolution rfnthbyf
        rhbcnbyf rhfcjnrf ricardo1 riccardo richard1 richmond roadrunner roberto1 robinson rochelle rocknroll rockstar
        rockstar1 rocky123 rodriguez rolltide rolltide1 romashka ronaldinho ronaldo1 ronaldo7 ronaldo9 rooster1 rootbeer
        rosebud1 rosemary runescape runescape1 rush2112 russell1 sabrina1 sailormoon salvador salvation salvatore
        samantha samantha1 sammy123 sample123 sampson1 samsung1 samsung123 sandiego sandrine santiago sapphire sarah123
        sasha123 satan666 savannah savannah1 sayangku scarface scarface1 scarlett schalke04 school123 scoobydoo
        scoobydoo1 scooter1 scorpio1 scorpion scotland scotland1 scrappy1 scruffy1 sebastian sebastian1 sebastien
        secret12 secret123 secret666 security semperfi sentnece september september1 september2 serenity serenity1
        sexybitch sexybitch1 sexyboy1 sexygirl sexygirl1 sexylady sexylady1 sexymama sexymama1 shadow11 shadow12
        shadow123 shadow13 shamrock shannon1 sherlock shithead shithead1 shopping shopping1 simpsons simpsons1 singapore
        sk84life sk8board sk8ordie skate123 skate4life skateboard skeeter1 skipper1 skittles skittles1 skorpion skyline1
        skywalker slayer666 slimshady slipknot slipknot1 smackdown smallville smile123 smile4me smoke420 snickers
        snickers1 snowball snowball1 snowboard snowflake snowflake1 snowman1 snuggles soccer10 soccer11 soccer12
        soccer123 soccer13 soccer14 soccer15 soccer16 soccer17 soccer21 soccer22 soccer23 socrates softball softball1
        sojdlg123aljg something something1 sometimes sooners1 soulmate southpark southpark1 southside southside1
        spartan117 special1 spencer1 spiderman spiderman1 spiderman2 spiderman3 spitfire spongebob spongebob1 spongebob2
        sporting squirrel ssyu1314 stanley1 starcraft stardust starfish stargate starlight startfinding startrek
        starwars starwars1 steelers steelers1 stefania stellina stephane stephanie stephanie1 stephen1 sterling
        stonecold stratfor strawberry strength student1 sublime1 success1 summer06 summer07 summer08 summer09 summer12
        summer123 summertime sunflower sunflower1 sunshine sunshine1 sunshine12 sunshine2 super123 superman superman1
        superman12 superman2 superstar superstar1 sureno13 surfing1 svetlana sweet123 sweetheart sweetie1 sweetness
        sweetness1 sweetpea sweetpea1 swimming swimming1 swordfish swordfish1 sylvester syncmaster sz9kqcctwy tacobell
        tacobell1 taekwondo target123 tarheels taylor12 tazmania teacher1 teddybear teddybear1 telechargement telefono
        telephone temppass temppassword tequiero terminator test1234 testing123 testpass testtest thailand thankyou
        thebest1 thegame1 theking1 theresa1 therock1 thomas123 thompson thuglife thuglife1 thumper1 thunder1 tiffany1
        tiger123 tigger12 timothy1 tinkerbell tnk0mk16vx tokiohotel topolino toshiba1 tottenham toulouse treasure
        trfnthbyf trinidad trinity1 tristan1 trombone trouble1 trucker1 truelove truelove1 trumpet1 trustno1 twilight
        twilight1 tyler123 ultimate underground undertaker unicorn1 univers2l universal universe university uqa9ebw445
        uvgx8f8232 vacation vaffanculo valencia valentin valentina valentine valentino valerie1 vampire1 vampires
        vanessa1 vanilla1 verbatim verizon1 veronica veronica1 veronika vfrcbvrf vfvfgfgf victoria victoria1 victory1
        viewsonic vikings1 viktoria vincent1 vincenzo virginia virginia1 virginie vkontakte vladimir vladislav vodafone
        volleyball vqsablpzla vrbgqns997 w5txn36alfw wachtwoord waheguru walmart1 wangyut2 warcraft warcraft1 warcraft3
        warhammer warrior1 warriors washington water123 watermelon webhompass welcome1 welcome123 werewolf westlife
        westside westside1 whatever whatever1 whiskers whitney1 whocares wildcats wildcats1 william1 williams williams1
        windows1 winston1 wolfgang wolfpack wolverine wonderful wordpass wordpass1 wow12345 wrangler wrestling
        wrestling1 x4ivyga51f xiang123456 y6p67ftrqj yagjecc826 yahoo.com yahoo123 yamaha12 yamahar1 yankees1 yankees2
        yellow12 yfdbufnjh10305070 youbye123 youngmoney yourmom1 yousuck1 yuantuo2012 z1x2c3v4 zachary1 zag12wsx
        zaq12wsx zaq1xsw2 zaq1zaq1 zeppelin zxasqw12 zxcasdqwe zxcv1234 zxcvbnm, zxcvbnm1 zxcvbnm123 zxcvbnm: zzzzzzzz
        """#.split(whereSeparator: \.isWhitespace).map(String.init))
}
