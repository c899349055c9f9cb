"""Recipes, timetables, doses, laws, logs, sums, music, chess: each is read as its readers say it."""

from __future__ import annotations

import pytest

from benchmarks.text import bare
from gateway.text import normalise

ENGLISH = {
    "1-1/2 cups, 2-3/4 lb, 1/4-1/2 tsp, ½–¾ cup": "one and a half cups, two and three quarters pounds, one"
    " quarter to one half teaspoon, one half to three quarters cup",
    "1½-2 cups": "one and a half to two cups",
    "Sat 0700-2300, dep. 07:05, arr. 07:50": "Saturday oh seven hundred to twenty-three hundred, departs"
    " seven oh five, arrives seven fifty",
    "Take 1-2 tabs q4-6h, max 8 tabs/24h, x 7 days": "Take one to two tabs every four to six hours, max eight"
    " tabs per twenty-four hours, x seven days",
    "¹⁶ For God so loved, ¹⁷that ³I am ⁴In the ⁵It is": "For God so loved, that I am In the It is",
    "¹⁴C, ²³⁵U, ¹³¹I therapy, ¹¹¹In scans, x ² y": "fourteen C, two hundred thirty-five U, one hundred"
    " thirty-one I therapy, one hundred eleven In scans, x ² y",
    "1 john 4:8, 1 cor 13:4-7, Matt. 5:3–12, score 3:1": "First John four eight, First Corinthians"
    " thirteen, four to seven, Matthew five, three to twelve, score three to one",
    "METAR KJFK 291251Z 18010G25KT 1 1/2SM -RA BKN012CB 12/M03 A3012": "METAR K J F K, the twenty-ninth at"
    " twelve fifty-one Zulu, wind one eight zero at ten knots, gusting twenty-five, visibility one and one"
    " half miles, light rain, broken clouds at one thousand two hundred feet with cumulonimbus, temperature"
    " twelve, dew point minus three, altimeter three zero one two",
    "EDDF 010020Z AUTO VRB02KT 180V250 9999 Q1013 NOSIG": "E D D F, the first at zero twenty Zulu,"
    " automatic, wind variable at two knots, variable from one eight zero to two five zero, visibility ten"
    " kilometers or more, Q N H one zero one three, no significant change",
    "TAF EDDM 291100Z 2912/3018 00000KT 6000 +SHRA FM291430 CAVOK": "TAF E D D M, the twenty-ninth at"
    " eleven hundred Zulu, from the twenty-ninth at twelve hundred Zulu to the thirtieth at eighteen"
    " hundred Zulu, wind calm, visibility six thousand meters, heavy showers of rain, from the twenty-ninth"
    " at fourteen thirty Zulu, ceiling and visibility okay",
    "1600 Penn Ave, 2300 block of W. 5th St., in 1600 Oak trees": "sixteen hundred Penn Avenue,"
    " twenty-three hundred block of W. fifth Street, in sixteen hundred Oak trees",
    "Sr. PM, Sr. Engineer Bob, Sr. Maria": "Senior PM, Senior Engineer Bob, Sister Maria",
    "est. delivery Fri., est. 1990, OTP is 482-913, Acct ****1234": "estimated delivery Friday, established"
    " nineteen ninety, OTP is four eight two, nine one three, Acct ending in one two three four",
    "Reg. (EU) 2016/679; Directive 95/46/EC": "Reg. (EU) twenty sixteen, six hundred seventy-nine;"
    " Directive ninety-five, forty-six E C",
    "Tue Nov 26 17:03:12 2024 +0100": "Tuesday November twenty-sixth seventeen oh three and twelve seconds,"
    " twenty twenty-four, U T C plus one",
    "Node 14/16, 27/37 passes, 7/16 inch": "Node fourteen, sixteen, twenty-seven out of thirty-seven"
    " passes, seven sixteenths inch",
    "SAT/SUN 0700-0000, MON-FRI, at 2358 GMT": "Saturday and Sunday oh seven hundred to midnight, Monday to"
    " Friday, at twenty-three fifty-eight G M T",
    "Q dmg 40/65/90/115, K/D/A 12/3/7, XP ×1.5, regen 5/s": "Q dmg forty, sixty-five, ninety, one hundred"
    " fifteen, K/D/A twelve, three, seven, XP times one point five, regen five per second",
    'Dow +123.74 pts, (−3.5 bps), 8GB/256GB, 6.1" OLED, 269 yds': "Dow plus one hundred twenty-three"
    " point seven four points, (minus three point five basis points), eight gigabytes, two hundred"
    " fifty-six gigabytes, six point one inch OLED, two hundred sixty-nine yards",
    "up from 1-in-8; N=12; p = .028; x != 'a'": "up from one in eight; N equals twelve; p equals point zero"
    " two eight; x is not equal to 'a'",
    "500 mg x10d, DOI 10.1038/s41586-024, PMID 12345678, pre-1900": "five hundred milligrams for ten days,"
    " DOI one zero dot one zero three eight slash s four one five eight six dash zero two four, PMID one"
    " two three four five six seven eight, pre nineteen hundred",
    "ETA 5:45p, 1800Z; 1 (14.5-oz.) can; 2:00:35 or 03:00:01": "ETA five forty-five p m, eighteen hundred"
    " Zulu; one (fourteen point five ounce) can; two hours and thirty-five seconds or three hours and one"
    " second",
    "Pub. L. No. 117-58, at 683, 707–08 (1974), 2d Cir., No. 3:21-cv-01234": "Pub. L. Number one hundred"
    " seventeen, fifty-eight, at six hundred eighty-three, seven hundred seven to oh eight (nineteen"
    " seventy-four), second Cir., Number three, twenty-one, c v, zero one two three four",
    "FCF $(1.2)m, (12/6–12/9), HP 45/60, B.1.1.529; Is 7 > 5? |−3| = 3": "FCF minus one point two million"
    " dollars, (December sixth to December ninth), HP forty-five out of sixty, B point one point one point"
    " five hundred twenty-nine; Is seven greater than five? the absolute value of minus three equals three",
    "Jimmy B., 1977; 2019 Honda Civic LX, 30/38 mpg, thru 3/14": "Jimmy B., nineteen seventy-seven; twenty"
    " nineteen Honda Civic LX, thirty, thirty-eight miles per gallon, thru March fourteenth",
    "dismissal 12/20 @ 1:15 p.m., polled 10/28–31, M–F 8a–5p": "dismissal December twentieth at one"
    " fifteen p m, polled October twenty-eighth to thirty-first, Monday to Friday eight a m to five p m",
    "USB-5V, f(x2), 1/16-18 oz": "USB five volts, f(x two), one sixteenth to eighteen ounces",
    "lucky #s 3; S4 E12; LC-39A; SAT 1480/1600; buttons (x6)": "lucky numbers three; season four episode"
    " twelve; LC thirty-nine A; SAT one thousand four hundred eighty out of one thousand six hundred;"
    " buttons (times six)",
    '93.8/sq mi, 7:53/mi, f/2.8, 1/250s, 45"-wide cotton': "ninety-three point eight per square mile,"
    " seven fifty-three per mile, f two point eight, one two hundred fiftieth of a second, forty-five"
    " inch-wide cotton",
    "500 mg q8h x 7 days": "five hundred milligrams every eight hours for seven days",
    "WBC 7.2 x 10^9/L, 24 mEq/L, 35 U/L": "WBC seven point two times ten to the power of nine per liter,"
    " twenty-four milliequivalents per liter, thirty-five units per liter",
    "Her vision is 20/40": "Her vision is twenty forty",
    "INR 2.5 or INR 250": "INR two point five or two hundred fifty rupees",
    "42 U.S.C. § 1983, Fed. R. Civ. P. 12": "forty-two U S C section nineteen eighty-three, Fed. R. Civ. P."
    " twelve",
    "No. 19-1392, at 45 n.3": "Number nineteen, thirteen ninety-two, at forty-five note three",
    "Smith v Jones [2019] EWCA Civ 5": "Smith versus Jones [twenty nineteen] EWCA Civ five",
    "arXiv:2301.12345": "arXiv two three zero one point one two three four five",
    "5! = 120, sin(x)/x = 1, n(n+1)/2 = 3": "five factorial equals one hundred twenty, sin(x) over x equals"
    " one, n(n plus one) over two equals three",
    "(x+1)(x-1) = x² - 1": "(x plus one)(x minus one) equals x squared minus one",
    "x = (-b ± √(b² - 4ac)) / 2a": "x equals (minus b plus or minus the square root of (b squared minus four"
    " ac)) divided by two a",
    "ΔH = −92, 2**10, |x| < 5": "ΔH equals minus ninety-two, two to the power of ten, the absolute value"
    " of x is less than five",
    "∀x ∈ A ∪ B, ∴∠A = 90°": "for all x in A union B, therefore angle A equals ninety degrees",
    "1. e4 e5 2. Nf3 Nc6 3. Bb5": "one. e four e five two. knight f three knight c six three. bishop b five",
    "20. Qxh7+ O-O-O 21. Rh8#": "twenty. queen takes h seven check castles queenside twenty-one. rook h eight"
    " mate",
    "EOD 5/20, Mon.–Fri.; closed": "EOD May twentieth, Monday to Friday; closed",
    "at 12A Main St. Use a 12A fuse, No. 1-200": "at twelve A Main Street. Use a twelve amp fuse, Number one"
    " to two hundred",
    "IBM Db2, Orlando, Fl. 32801": "IBM Db two, Orlando, Fl. thirty-two thousand eight hundred one",
    "Play C#m7b5, F#7, then Bb7": "Play C sharp m seven flat five, F sharp seven, then B flat seven",
    "♩ = 120, 6/8 time, in 6/8.": "quarter note equals one hundred twenty, six eight time, in six eight.",
    "Sonata Op. 27 in 3/4 of cases": "Sonata Opus twenty-seven in three quarters of cases",
    "a ii–V–I, I-I-I see": "a two five one, I-I-I see",
    "Dec −5° 23′ 28″, 5'6\"": "Dec minus five degrees twenty-three minutes twenty-eight seconds, five feet"
    " six inches",
    "EUR/USD 1.08, ▲ 0.4%, +3 bps": "EUR/USD one point zero eight, up zero point four percent, plus three"
    " basis points",
    "14:30:12,345 ERROR": "fourteen thirty and twelve point three four five seconds ERROR",
    "[05/Mar/2024:14:30:12 +0100]": "[March fifth, twenty twenty-four at fourteen thirty and twelve seconds,"
    " U T C plus one]",
    "At 14:30:00+00:00": "At fourteen thirty and zero seconds, U T C",
    "Gadget,19.50,25": "Gadget,nineteen point five zero,twenty-five",
    "Lv.50, p.12, layers.0": "Level fifty, page twelve, layers point zero",
    "@a & @b #100DaysOfCode #1": "at a and at b hashtag one hundred DaysOfCode number one",
    "SCENE 12A, JANE (30s), [Chorus x2]": "SCENE twelve A, JANE (thirties), [Chorus times two]",
    "0151/12345678, 1300 655 506": "zero one five one, one two three four five six seven eight, one three"
    " zero zero, six five five, five zero six",
    "(212) 555-0199 x204, text HOME to 74174": "two one two, five five five, zero one nine nine extension two"
    " zero four, text HOME to seven four one seven four",
    "Unit 4/12 Smith St, c/o John, Fl. 3": "Unit four, twelve Smith Street, care of John, Floor three",
    "3x/day, 1x daily, heat to 375ºF, 1/4 c. oil": "three times a day, one time daily, heat to three hundred"
    " seventy-five degrees Fahrenheit, one quarter cup oil",
    "ER+/PR+ and C++/Java, s/p MI, grade 2/4": "ER+/PR+ and C plus plus slash Java, status post MI, grade two"
    " out of four",
    "15 U.S.C. 78t(a), 5 F.3d 123 (9th Cir. 1993)": "fifteen U S C seventy-eight t(a), five F third one"
    " hundred twenty-three (ninth Cir. nineteen ninety-three)",
    "Pub. L. 117-58, R v. Dudley, Doe d/b/a Foo": "Pub. L. one hundred seventeen, fifty-eight, R versus"
    " Dudley, Doe doing business as Foo",
    "x³ − 1, (−∞, 5], a−b, It's −40°": "x cubed minus one, (minus infinity, five], a minus b, It's minus"
    " forty degrees",
    "A = {1}, s = 'x', dy/dx = Δv/Δt": "A equals {one}, s equals 'x', dy over dx equals Δv over Δt",
    "J10-J12, Serves: 4 | Time: 5": "J ten to J twelve, Serves: four, Time: five",
    "S01E05, CA 19-9, ³√8 = 2, ↑ 5%": "season one episode five, CA nineteen nine, the cube root of eight"
    " equals two, up five percent",
    "$875.28 +12.10 (1.40%), EPS $(0.05), +3% q/q": "eight hundred seventy-five dollars and twenty-eight"
    " cents"
    " plus twelve point one zero (one point four zero percent), EPS minus five cents, plus three percent"
    " quarter"
    " over quarter",
    "near 26.7N 82.2W, 55% — 24 votes, 70% w/w": "near twenty-six point seven north, eighty-two point two"
    " west,"
    " fifty-five percent — twenty-four votes, seventy percent w/w",
    "sha256:9f86d081884c7d65, 1_000_000": "sha two hundred fifty-six nine f eight six d zero eight one"
    " eight eight"
    " four c seven d six five, one million",
    "Jul  5 2023, c. 1890s, $1.1B est.; 100 N Main St": "July fifth, twenty twenty-three, circa eighteen"
    " nineties,"
    " one point one billion dollars estimate; one hundred North Main Street",
    "0800 11 11 11, (02) 9374 4000, 555‑2671": "zero eight zero zero, one one, one one, one one, zero"
    " two, nine"
    " three seven four, four zero zero zero, five five five, two six seven one",
    "Out now · Music by Ann ⬇️": "Out now, Music by Ann",
    "(1/3) A thread": "(one of three) A thread",
    "RWY 27L, runway 09R, ILS 22, a runway 18 months": "RWY two seven left, runway zero nine right, ILS two"
    " two, a runway eighteen months",
    "Fig. 3A, class 5A, 19 V, 3.42 A, the 5 A students": "Figure three A, class five A, nineteen volts, three"
    " point four two amps, the five A students",
    "50/60 Hz, 128/256 GB, 3/4 V": "fifty or sixty hertz, one hundred twenty-eight or two hundred fifty-six"
    " gigabytes, three quarters V",
    "2796×1290, M4×20 mm, 60×45.5×82 cm, 4 × 5 = 20": "two thousand seven hundred ninety-six by one thousand"
    " two hundred ninety, M four by twenty millimeters, sixty by forty-five point five by eighty-two"
    " centimeters, four times five equals twenty",
    "dilute 1:10, a 1:50,000 map, a 1:200 dilution, odds of 5:1, back at 1:10": "dilute one to ten, a one to"
    " fifty thousand map, a one to two hundred dilution, odds of five to one, back at one ten",
    "9/9–10/2, reflexes 5/5-4/5, Mar 21–Apr 19, 21 May–2 June": "September ninth to October second,"
    " reflexes five out of five to four fifths, March twenty-first to April nineteenth, the twenty-first of"
    " May to the second of June",
    "a 3,5 km trail, 12,5 mg, 3,5 %, 1,234 km, 48°12.5′N": "a three point five kilometer trail, twelve point"
    " five milligrams, three point five percent, one thousand two hundred thirty-four kilometers,"
    " forty-eight degrees twelve point five minutes N",
    "9.5 L/cycle, 2 wt.% of it, 1/1.3\" sensor, Ø 8 mm, at 10,781'": "nine point five liters per cycle, two"
    " weight percent of it, one over one point three inch sensor, diameter eight millimeters, at ten"
    " thousand seven hundred eighty-one feet",
    "∫₀¹ x² dx (2 s.f.), in 4/4 at 120 bpm": "the integral from zero to one of x squared dx (two s f), in"
    " four four at one hundred twenty beats per minute",
    "★★★★☆ for a 4★ hotel, ★ Note ★★★ SALE": "four stars for a four star hotel, Note SALE",
    "III.i.56, V.ii.12-14 (IV.ii)": "act three, scene one, line fifty-six, act five, scene two, lines twelve"
    " to fourteen (act four, scene two)",
    "Gen. 1:1–2:4, Ps 23, vv. 1–12, Psalm 119:105": "Genesis one one to two four, Psalm twenty-three, verses"
    " one to twelve, Psalm one hundred nineteen, one hundred five",
    "it's a 7/10, a 3/10 mile, PO x 10d, 142k mi., 7:25a.": "it's a seven out of ten, a three tenths mile,"
    " PO for ten days, one hundred forty-two thousand miles, seven twenty-five a m",
    "$1,950/mo. plus utils, m. 1824, bapt. 1742": "one thousand nine hundred fifty dollars per month plus"
    " utils, m. eighteen twenty-four, bapt. seventeen forty-two",
}


@pytest.mark.parametrize("written", ENGLISH)
def test_kinds_of_english_text(written: str) -> None:
    assert bare(normalise(written, "en").text) == bare(ENGLISH[written])


CHINESE = {
    "3.5日元，1.5日游，4k视频，10k马拉松，射门3-5次，11/29/2024。": "三点五日元，一点五日游，四k视频，"
    "十k马拉松，射门三到五次，二零二四年十一月二十九日。",
    "利率3%-5%，增长率1%-2%。": "利率百分之三到百分之五，增长率百分之一到百分之二。",
    "控球率62%-38%，射门17-6，（32-25、28-27、31-22），2-6/6-4逆转。": "控球率百分之六十二比百分之三十八，"
    "射门十七比六，（三十二比二十五、二十八比二十七、三十一比二十二），二比六、六比四逆转。",
    "M1 -6.1%，11.29日讯，9:00AM-5:00PM，12.3k star，TPS 5k。": "M一，百分之负六点一，"
    "十一月二十九日讯，上午九点整到下午五点整，一点二三万 star，TPS 五千。",
    "2,700mm，250N·m，第1/3页，GPA 3.8/4.0，高铁G102。": "二千七百毫米，二百五十牛米，第一页，共三页，"
    "GPA三点八，满分四点零，高铁G幺零二。",
    "5球2助，第2跳207C，风速+0.9m/s，开庭：12-20 9:30。": "五球两助，第二跳二零七C，风速正零点九米每秒，"
    "开庭：十二月二十日 九点三十分。",
    "硬卧￥228.5/236.5/245.5，奖金5000/3000/1000元，6:00/22:30。": "硬卧二百二十八点五、二百三十六点五、"
    "二百四十五点五元，奖金五千、三千、一千元，六点整，二十二点三十分。",
    "2100千焦/100克，限购2件/人，500张/包，128GB/512GB。": "两千一百千焦每一百克，限购两件每人，"
    "五百张每包，一百二十八GB、五百一十二GB。",
    "320机型，排名3/45，楼层6/18层，x∈[0,1]。": "三二零机型，排名三，共四十五，楼层六层，共十八层，"
    "x属于[零,一]。",
    "ER(+)，抗原（-），胰岛素12U，1g/cm³，9.8N/kg。": "ER阳性，抗原阴性，胰岛素十二单位，一克每立方厘米，"
    "九点八牛每千克。",
    "《2001太空漫游》，公元618—907年，清末1840-1912，2020s。": "《二零零一太空漫游》，"
    "公元六一八到九零七年，清末一八四零到一九一二，二零二零年代。",
    "见§2.3，震中30.21°N、东经116.4°E。": "见第二点三节，震中北纬三十点二一度、东经一百一十六点四度。",
    "3-0横扫，9秒98夺冠，身高1m78。": "三比零横扫，九秒九八夺冠，身高一米七八。",
    "取件码3-2-1045，教3-201，5楼507。": "取件码三杠二杠一零四五，教三杠二零一，五楼五零七。",
    "生产日期：20240315，23Q4，M2余额，20240315元。": "生产日期：二零二四年三月十五日，二三Q四，M二余额，"
    "两千零二十四万零三百一十五元。",
    "L4/5、L5/S1椎间盘，10mg/kg·d，HGB 98g/L↓，7.2×10⁹/L。": "L四五、L五S一椎间盘，十毫克每千克每天，HGB"
    " 九十八克每升偏低，七点二乘以十的九次方每升。",
    "+120/-35行，RTX4090，i7-13700K，波音B747-8，空客A380，B777。": "加一百二十、减三十五行，RTX四零九零，i七"
    " 一三七零零K，波音B七四七杠八，空客A三八零，B七七七。",
    '（00700.HK），GB/T 20980，600+km，65"电视，φ12mm。': "（零零七零零.HK），GB/T"
    " 二零九八零，六百多公里，六十五英寸电视，直径十二毫米。",
    "12V/2A，5A景区，1.5t，72bpm，1850kJ，3.5L/100km。": "十二伏，二安，五A景区，一点五吨，七十二次每分钟，"
    "一千八百五十千焦，每一百公里三点五升。",
    "147人/平方公里，180微克/立方米，1.5人/亩。": "一百四十七人每平方公里，一百八十微克每立方米，"
    "一点五人每亩。",
    "¹⁶神爱世人，¹⁷因为10¹²个": "神爱世人，因为十的十二次方个",
    "去了2次，这2次考试，第2次，2次函数。": "去了两次，这两次考试，第二次，二次函数。",
    "空2行，分成2组，第2组，2毛钱，2室1厅，3室2厅。": "空两行，分成两组，第二组，两毛钱，"
    "两室一厅，三室两厅。",
    "2门课，敲了2下，左右2边，缓刑2年，民国2年，2到3次。": "两门课，敲了两下，左右两边，缓刑两年，"
    "民国二年，两到三次。",
    "Switch 2首发，2首歌，B2层。": "Switch 二首发，两首歌，B二层。",
    "孔子（前551年—前479年），李白（701—762），（120-180）。": "孔子（前五五一年到前四七九年），"
    "李白（七零一到七六二），（一百二十到一百八十）。",
    "2024甲辰年，2025蛇年。": "二零二四甲辰年，二零二五蛇年。",
    "乘MU5101，12#楼，（600519）涨停，300750.SZ。": "乘MU五幺零幺，十二号楼，（六零零五一九）涨停，"
    "三零零七五零.SZ。",
    "电话021 6234 5678，粤B 8888D，沪C·88A99。": "电话零二幺六二三四五六七八，粤B八八八八D，沪C八八A九九。",
    "呼吸18次/min，ALT 35U/L，BMI 24.5kg/m²。": "呼吸十八次每分钟，ALT 三十五单位每升，"
    "BMI 二十四点五千克每平方米。",
    "硫酸铜CuSO₄·5H₂O，5!=120，1+2+…+100。": "硫酸铜CuSO四·五H二O，五的阶乘等于一百二十，一加二加…加一百。",
    "∵a>b，∴∠A=90°，AB∥CD，x∈R，3∶2。": "因为a大于b，所以角A等于九十度，AB平行于CD，x属于R，三比二。",
    "速度120，从120到130，打120。": "速度一百二十，从一百二十到一百三十，打幺二零。",
    "♩=120，4/4拍，#F小调，赤经5h35m。": "四分音符等于一百二十，四分之四拍，升F小调，赤经五小时三十五分。",
    "II型糖尿病，XIV世纪，V型，⑴说明。": "二型糖尿病，十四世纪，V型，一说明。",
    "面粉5㎏，长10㎝，比例0.5:1:2，环比-3.4pct。": "面粉五千克，长十厘米，比例零点五比一比二，"
    "环比负三点四个百分点。",
    "u1s1，5v5团战，战绩20/3/15，618活动，95后。": "有一说一，五V五团战，战绩二十、三、十五，"
    "六一八活动，九五后。",
    "依据GB/T 19001-2016，-5%~+5%。": "依据GB/T 一九零零一杠二零一六，百分之负五到正百分之五。",
    "加2大勺，葱2瓣，1/2茶匙，油1tbsp。": "加两大勺，葱两瓣，二分之一茶匙，油一汤匙。",
    "CT值-650HU，CA19-9 25U/mL，10-15mg/次，0.05%/日。": "CT值负六百五十HU，CA一九九 二十五单位每毫升，"
    "十到十五毫克每次，百分之零点零五每日。",
    "持股51%/49%，G7001（南京）07:00 → 上海，配速5'30\"。": "持股百分之五十一、百分之四十九，"
    "G七零零幺（南京）七点整到上海，配速五分三十秒。",
    "打开设置→通用，2KMnO4→K2MnO4+O2，n→∞。": "打开设置，通用，二KMnO四生成K二MnO四加O二，n趋于无穷大。",
    "x=(-b±√Δ)/2a，2⁻¹=0.5，|−5|，³√8，a:b=3:4。": "x等于(负b正负根号Δ)除以二a，"
    "二的负一次方等于零点五，|负五|，三次根号八，a比b等于三比四。",
    "F#m7，♪=60，S01E05，3-2翻盘，笑死23333。": "升Fm七，八分音符等于六十，第一季第五集，"
    "三比二翻盘，笑死二三三三三。",
    "[00:12.50]我爱你\n[00:15.80]在夜里3点": "我爱你，在夜里三点",
    "沪指↑0.5%，SZ002594，+5bp。": "沪指涨百分之零点五，SZ零零二五九四，正五个基点。",
    "2年3班的D7000相机，质保2年。": "二年三班的D七千相机，质保两年。",
    "6/30前done，ROI≥1.5。": "六月三十日前done，ROI大于等于一点五。",
    "2024 Q3 GMV达¥3.2B，DAU和ARPU ¥45。": "两千零二十四 Q三 GMV达三十二亿元，DAU和ARPU 四十五元。",
    "这周的to-do：fix #12；review PR；14:00 sync。": "这周的to-do：fix 井号十二；review PR；十四点整 sync。",
    "数量2个 | 单价3元": "数量两个，单价三元",
    "HbA1c 6.5%，eGFR≥90。": "HbA一c 百分之六点五，eGFR大于等于九十。",
    "age>18 LIMIT 10，奥迪A4L，净重5L，20 USD，国航1501。": "age大于十八 LIMIT 十，奥迪A四L，净重五升，"
    "二十美元，国航幺五零幺。",
    "36L跑道，从120MB到110GB，AC 100-240V~50/60Hz，5V⎓3A。": "三六左跑道，从一百二十MB到一百一十GB，"
    "AC 一百到二百四十伏，五十或六十赫兹，五伏，三安。",
    "风速6米/秒，3000r/min，150kW·h，6.8万km，按1:10稀释。": "风速六米每秒，三千转每分，一百五十千瓦时，"
    "六点八万公里，按一比十稀释。",
    "计算:(-3)²=9。太好了:) 真的": "计算:(负三)的平方等于九。太好了 真的",
    "《约翰福音》3:16，《创世记》1:1-2:3，《古兰经》2:255。": "《约翰福音》三章十六节，"
    "《创世记》一章一节到二章三节，《古兰经》二章二百五十五节。",
    "满意度4.8/5分，豆瓣9.2/10，含100GB流量+1000分钟，净胜球+21。": "满意度四点八分，满分五分，豆瓣九点二分，"
    "满分十分，含一百GB流量加一千分钟，净胜球正二十一。",
    "局分25-21、23-25，白羊座（3.21-4.19）★★★★☆，Lv.60以上，5★，100号15F。": "局分二十五比二十一、"
    "二十三比二十五，白羊座（三月二十一日到四月十九日）四星，六十级以上，五星，一百号十五楼。",
}


@pytest.mark.parametrize("written", CHINESE)
def test_kinds_of_chinese_text(written: str) -> None:
    assert bare(normalise(written, "zh").text) == bare(CHINESE[written])
