"""What people write beside the cases of the tables: each is read as its reader would say it."""

from __future__ import annotations

import pytest

from benchmarks.text import bare
from gateway.text import normalise

RAISED = {
    "About 10⁶ cells.": "About ten to the power of six cells.",
    "It is 10⁻¹², or 2^10.": "It is ten to the power of minus twelve, or two to the power of ten.",
    "Then x² and x³.": "Then x squared and x cubed.",
    "The word¹ has notes.² Their volume³ is small.": "The word has notes. Their volume is small.",
    "共有10⁶个，即10^6个。": "共有十的六次方个，即十的六次方个。",
    "他说过这句话¹。后来否认。²": "他说过这句话。后来否认。",
}


def said(written: str) -> str:
    return bare(normalise(written, "zh" if "。" in written else "en").text)


@pytest.mark.parametrize("written", RAISED)
def test_a_power_is_said_and_the_figure_of_a_note_is_not(written: str) -> None:
    assert said(written) == bare(RAISED[written])


ENGLISH = {
    "ISBN 978-0-306-40615-7.": "ISBN nine seven eight, zero, three zero six, four zero six one five, seven.",
    "On 1-2-3, or 12-25-2024.": "On one, two, three, or December twenty-fifth, twenty twenty-four.",
    "Call 1-800-FLOWERS.": "Call one eight hundred FLOWERS.",
    "Card 4111 1111 1111 1111.": "Card four one one one, one one one one, one one one one, one one one one.",
    "Send DE89 3704 0044 0532 0130 00.": "Send D E eight nine, three seven zero four, zero zero four four,"
    " zero five three two, zero one three zero, zero zero.",
    "Boston, MA 02108-1234": "Boston, MA zero two one zero eight, one two three four",
    "At 10.0.0.1:8080.": "At ten dot zero dot zero dot one colon eight zero eight zero.",
    "It was $.99, €1.234,56 or 20,50 EUR.": "It was ninety-nine cents, one thousand two hundred thirty-four"
    " euros and fifty-six cents or twenty point five zero euros.",
    "10 000 km, 1\u202f234 kg": "ten thousand kilometers, one thousand two hundred thirty-four kilograms",
    "1/2 lb, 3/4 mi, 1 1/2 oz, ½ tsp, 2¼ km": "one half pound, three quarters of a mile, one and a half"
    " ounces, one half teaspoon, two and a quarter kilometers",
    "Add 3 tbsp. oil.": "Add three tablespoons oil.",
    "$5/hr at 45°N": "five dollars per hour at forty-five degrees north",
    "Jan 1–3, 2024 or May 5-7": "January first to third, twenty twenty-four or May fifth to seventh",
    "5–7 May 2024": "the fifth to the seventh of May twenty twenty-four",
    "Mon-Fri 9am": "Monday to Friday nine a m",
    "Q1 2024, FY2025, the 90's": "Q one twenty twenty-four, FY twenty twenty-five, the nineties",
    "§ 12 and §§ 3-5": "section twelve and sections three to five",
    "Mr. & Mrs. Lee & Co., 5 J. & K.": "Mister and Missus Lee and Co., five J. and K.",
    "1600 Pennsylvania Ave NW": "sixteen hundred Pennsylvania Avenue NW",
    "p<0.05, 3<5, <10, ≥ 3": "p is less than zero point zero five, three is less than five, less than ten,"
    " greater than or equal to three",
    "$1.2-1.5 million, €5–10, US$5-10bn": "one point two to one point five million dollars, five"
    " to ten euros, five to ten billion US dollars",
    "1.2 million USD, 5$, ₹1,00,000": "one point two million US dollars, five dollars, one"
    " hundred thousand rupees",
    "9.30 am on 2024/12/31": "nine thirty a m on December thirty-first, twenty twenty-four",
    "7–9 pm, 1️⃣ First": "seven to nine p m, one First",
    "<b1>5</b1>, ελληνικά 5": "<b1>5</b1>, ελληνικά 5",
    "8½ x 11, Vol. II": "eight and a half by eleven, Volume two",
    "180°C/350°F, 72°F / 22°C": "one hundred eighty degrees Celsius or three hundred fifty degrees"
    " Fahrenheit, seventy-two degrees Fahrenheit or twenty-two degrees Celsius",
    "350 degrees F, 180C": "three hundred fifty degrees Fahrenheit, one hundred eighty degrees Celsius",
    "Red / blue, yes * no, $10 / month": "Red / blue, yes * no, ten dollars per month",
    "y = width * height / 2": "y equals width times height divided by two",
    "5-3=2, 8/2=4, +5%": "five minus three equals two, eight divided by two equals four, plus five percent",
    "2h 30m, 1h30m, 5m 3s, 5m": "two hours thirty minutes, one hour thirty minutes, five minutes three"
    " seconds, five meters",
    "6 ft. 2 in. tall, 20 mins. 15 secs": "six feet two inches tall, twenty minutes fifteen seconds",
    "5' 11\" or 32\" TV, 3' x 5'": "five feet eleven inches or thirty-two inch TV, three by five feet",
    "40°26′46″N": "forty degrees twenty-six minutes forty-six seconds north",
    "550e8400-e29b-41d4-a716-446655440000": "five five zero e eight four zero zero, e two nine b, four one d"
    " four, a seven one six, four four six six five five four four zero zero zero zero",
    "00:1A:2B:3C:4D:5E": "zero zero, one A, two B, three C, four D, five E",
    "10.0.0.0/8, localhost:8080": "ten dot zero dot zero dot zero slash eight, localhost colon eight zero"
    " eight zero",
    "INV-2024-0001": "INV twenty twenty-four, zero zero zero one",
    "5-Jan-2024, 05-Jan-24, c. 1850": "January fifth, twenty twenty-four, January fifth, twenty-four, circa"
    " eighteen fifty",
    "Apple Inc. CEO, 5 Main Rd. The dog, Ford Co. Ltd. (inc. tax)": "Apple Incorporated CEO, five Main Road."
    " The dog, Ford Company Ltd. (including tax)",
    "10/10, 50/50, Psalm 23:1-4": "ten out of ten, fifty fifty, Psalm twenty-three, one to four",
    "In 1998.[3] Then x = arr[1]": "In nineteen ninety-eight. Then x equals arr[one]",
    "It fell.[3][4] Its towns[12] grew": "It fell. Its towns grew",
    "AT&amp;T, caf&eacute;, 5&nbsp;km": "AT and T, café, five kilometers",
    "1) One\nb) Two": "one. One\nb. Two",
    "love you <3\nx is <3": "love you\nx is less than three",
    "at $1.46 vs. est. $1.39, est.": "at one dollar and forty-six cents versus estimated one dollar and"
    " thirty-nine cents, established",
    "oil at $78.12/bbl, 10 mg/kg, R$20": "oil at seventy-eight dollars and twelve cents per barrel, ten"
    " milligrams per kilogram, twenty reais",
    "9 a.m.–5 p.m., 50-50": "nine a m to five p m, fifty fifty",
    "The year was 1984 (1999).": "The year was nineteen eighty-four (nineteen ninety-nine).",
    "Seat 12A, 12A, UPS 1Z999AA10123456784": "Seat twelve A, twelve amps, UPS one Z nine nine nine A A one"
    " zero one two three four five six seven eight four",
    "Order #A1B2 <b class='x'>or</b> if (a<b && c>d)": "Order number A one B two or if (a<b and c>d)",
    "Appendix C, Type D, part l, Part V, Class IV": "Appendix C, Type D, part l, Part five, Class four",
    "I live on Elm St. It is on St. John St. where my Dr. lives": "I live on Elm Street. It is on Saint John"
    " Street where my Doctor lives",
    "John I think, George I like, Henry I was": "John I think, George I like, Henry the first was",
    "Tel.: 555-1234": "Telephone: five five five, one two three four",
    "In E♭ major, F♯, Bb minor, D# minor": "In E flat major, F sharp, B flat minor, D sharp minor",
    "H₂SO₄ and C₆H₁₂O₆": "H two SO four and C six H twelve O six",
    "Ｈｅｌｌｏ １２３ at １２：３０, ５０％": "Hello one hundred twenty-three at twelve thirty,"
    " fifty percent",
    "2024-03-05T14:30:00+02:00": "March fifth, twenty twenty-four at fourteen thirty and zero seconds,"
    " U T C plus two",
    "Meet at UTC-5, GMT+5:30, 8:00-09:00": "Meet at UTC minus five, GMT plus five thirty, eight o'clock to"
    " nine o'clock",
    "At 14:30+02:00, 3:20+1:10, 120 bpm": "At fourteen thirty, U T C plus two, three twenty plus one ten,"
    " one hundred twenty beats per minute",
    "Version 1.10 and versions 2.0.12": "Version one point ten and versions two point zero point twelve",
    "Light has 3×10^8 m/s, atoms 10⁻⁹ m": "Light has three times ten to the power of eight meters per second,"
    " atoms ten to the power of minus nine meters",
    "10 kΩ, Rs. 5 lakh, 6 ft 2 in.": "ten kiloohms, five lakh rupees, six feet two inches.",
    "Fe³⁺, SO₄²⁻, ¹⁴C, Ca(OH)₂": "Fe three plus, SO four two minus, fourteen C, Ca(OH)two",
    "y=mx+b; f(x)=x^2+3x-5; a²+b²=c^n": "y equals mx plus b; f(x) equals x squared plus three x minus five;"
    " a squared plus b squared equals c to the power of n",
    "Qwen2.5-7B on an i9-13900K": "Qwen two point five seven B on an i nine thirteen thousand nine hundred K",
    "2/3rds of it, 1/10th": "two thirds of it, one tenth",
    "2nd–5th, $1.5M–$2M": "second to fifth, one point five million dollars to two million dollars",
    "The 2023/24 season. Cmd+Shift+P": "The twenty twenty-three to twenty-four season. Cmd plus Shift plus P",
    "© 2024 by us": "copyright twenty twenty-four by us",
    "A $20 bill, a $1.50 soda, a £60m deal, a 5 kg bag": "A twenty dollar bill, a one dollar and fifty cent"
    " soda, a sixty million pound deal, a five kilogram bag",
    "It costs 20 €. Or 1.234,56 €.": "It costs twenty euros. Or one thousand two hundred thirty-four euros"
    " and fifty-six cents.",
    "5M users, 10k+ downloads, 2.5B views, 2B pencils": "five million users, ten thousand plus downloads,"
    " two point five billion views, two B pencils",
    "$2.50/1M tokens, 12¢/kWh, $5/user/month, $1.5k/mo": "two dollars and fifty cents per one million"
    " tokens, twelve cents per kilowatt hour, five dollars per user per month, one point five thousand"
    " dollars per month",
    "£1.5bn-£2bn": "one point five billion pounds to two billion pounds",
    "y = 2x - 5, x - y = 3": "y equals two x minus five, x minus y equals three",
    "Step 1 - a test = fine": "Step one - a test equals fine",
    "Due by 12/31, from 10/13, by 2/3": "Due by December thirty-first, from October thirteenth, by two"
    " thirds",
    "Jan.–Mar. sales, Oct-Dec 2023": "January to March sales, October to December twenty twenty-three",
    "John 3:16, Gen. 1:1, Mark 5:3 and 5:30": "John three sixteen, Genesis one one, Mark five three and five"
    " thirty",
    "Part 1: 5 ways, 16:9, 16 : 9": "Part one: five ways, sixteen to nine, sixteen to nine",
    "On Sat 12/7, Monday, 3/11": "On Saturday December seventh, Monday, March eleventh",
    "Step 3/5 and 3/5 of it": "Step three of five and three fifths of it",
    "A V8, V1.2, v8, 45°-90°": "A V eight, version one point two, version eight,"
    " forty-five degrees to ninety degrees",
    "The 2024 Olympics at UTC-08:00": "The twenty twenty-four Olympics at UTC minus eight",
    "EUR 1,250.00, $82/barrel, 24.7 kg/m2": "one thousand two hundred fifty euros, eighty-two"
    " dollars per barrel, twenty-four point seven kilograms per square meter",
    "200 words/min. Tel. +49 30 901820": "two hundred words per minute. Telephone plus four nine, three zero,"
    " nine zero one eight two zero",
    "p+q=3, r-s=0": "p plus q equals three, r minus s equals zero",
    "lr = 1e-5, p < 1e-3": "lr equals one times ten to the minus five, p is less than one"
    " times ten to the minus three",
    "$./setup.py for $5/kWh": "$dot slash setup dot py for five dollars per kilowatt hour",
    "In /etc/hosts. Or /usr. Fix src/main.py:42": "In slash etc slash hosts. Or slash usr. Fix src slash"
    " main dot py colon forty-two",
    "ISO 9001:2015, a Boeing 737-800, flight BA2490": "ISO nine thousand one, twenty fifteen, a Boeing seven"
    " hundred thirty-seven eight hundred, flight BA twenty-four ninety",
    "Take 2 x 500 mg on a 2 x 4": "Take two times five hundred milligrams on a two by four",
    "A 12 sq. ft. rug at 98.6F on x86-64": "A twelve square foot rug at ninety-eight point six degrees"
    " Fahrenheit on x eighty-six sixty-four",
    "Her GPA is 3.85/4.0.": "Her GPA is three point eight five out of four point zero.",
}


@pytest.mark.parametrize("written", ENGLISH)
def test_what_people_write_in_english(written: str) -> None:
    assert said(written) == bare(ENGLISH[written])


CHINESE = {
    "价格￥1,234.56元，$5-$10。": "价格一千二百三十四点五六元，五美元到十美元。",
    "加2¼杯糖，½杯盐，0.5‰。": "加二又四分之一杯糖，二分之一杯盐，千分之零点五。",
    "3号楼2单元。": "三号楼二单元。",
    "身份证号110101199001011234。": "身份证号一一零一零一一九九零零一零一一二三四。",
    "QQ：123456789。": "QQ：一二三四五六七八九。",
    "订单20240305123456789。": "订单二零二四零三零五一二三四五六七八九。",
    "书号是978-7-111-12345-6。": "书号是九七八七一一一一二三四五六。",
    "①首先，⑫要求>5，<10。": "一首先，十二要求大于五，小于十。",
    "地址为192.168.1.1:8080。": "地址为一九二点一六八点一点一冒号八零八零。",
    '他说，"今天是3号。"': '他说，"今天是三号。"',
    "快递SF1234567890123，QQ群：987654321，微信abc_123。": "快递SF一二三四五六七八九零一二三，"
    "QQ群：九八七六五四三二一，微信abc一二三。",
    "5g手机，面粉250g，1203会议室。": "五g手机，面粉二百五十克，一二零三会议室。",
    "电话010-88888888转8001，如图3-1。": "电话零幺零八八八八八八八八转八零零幺，如图三杠一。",
    "航班CA1501，315晚会。": "航班CA幺五零幺，三一五晚会。",
    "1)第一项。": "一.第一项。",
    "2月2日，第2名，第200页，2季度。": "二月二日，第二名，第二百页，二季度。",
    "2种方法，2台电脑，2点半，工作了2年，小学2年级。": "两种方法，两台电脑，两点半，工作了两年，小学二年级。",
    "2024-03-05T14:30:00Z，2024-03-05T14:30:00+08:00。": "二零二四年三月五日十四点三十分零秒，"
    "二零二四年三月五日十四点三十分零秒，UTC加八。",
    "１２：３０，５０％，约１２３个，50％。": "十二点三十分，百分之五十，约一百二十三个，百分之五十。",
    "误差1e-5，约10–15%。": "误差一乘以十的负五次方，约百分之十到百分之十五。",
    "2022-2023学年，2024Q1。": "二零二二到二零二三学年，二零二四Q一。",
    "5mL，3µg，5mA，硫酸H₂SO₄。": "五毫升，三微克，五毫安，硫酸H二SO四。",
    "20 USD，RMB 100，3万欧元。": "二十美元，一百元人民币，三万欧元。",
    "我用C++和C#，谢谢@小明。": "我用C加加和C井，谢谢艾特小明。",
    "从1月-3月，￥1.5万-2万，上午9点-下午5点。": "从一月到三月，一点五万元到两万，上午九点到下午五点。",
    "5%~10%，2023/24赛季，2-0大胜，+3°C。": "百分之五到百分之十，二零二三到二四赛季，"
    "二比零大胜，正三摄氏度。",
    "今日-3℃，明日-3℃~5℃，1°C~2°C，今年-2%。": "今日负三摄氏度，明日负三摄氏度到五摄氏度，"
    "一摄氏度到二摄氏度，今年百分之负二。",
    "第4.2.1节，f(x)=x^2+3x-5，2^n，Fe³⁺。": "第四点二点一节，f(x)等于x的平方加三x减五，二的n次方，Fe三正。",
    "E♭大调，F♯，∞，9·11事件。": "降E大调，升F，无穷大，九一一事件。",
    "会议定于2024-05-01上午9:00，2024.05.01至2024.05.07。": "会议定于二零二四年五月一日上午九点整，"
    "二零二四年五月一日至二零二四年五月七日。",
    "约翰福音3:16，诗篇23：1-6，楼下8:30。": "约翰福音三章十六节，诗篇二十三篇一到六节，楼下八点三十分。",
    "同比+15.3%，x+3%，比例为2:1:1。": "同比正百分之十五点三，x加百分之三，比例为二比一比一。",
    "体重70千克/公斤，5毫克/公斤。": "体重七十千克/公斤，五毫克每公斤。",
    "12元/斤，72次/分，5g/次，120/80mmHg，5.6mmol/L。": "十二元每斤，七十二次每分，五克每次，"
    "一百二十斜杠八十毫米汞柱，五点六毫摩尔每升。",
    "1.2w粉丝，年薪30-50w，20w快充。": "一点二万粉丝，年薪三十到五十万，二十w快充。",
    "985高校，996工作制，95588客服，京B88888。": "九八五高校，九九六工作制，九五五八八客服，京B八八八八八。",
    "方案1：3个月，比分3：2，比例16:9。": "方案一：三个月，比分三比二，比例十六比九。",
    "第2局：21-19，第3局：11：9。": "第二局：二十一比十九，第三局：十一比九。",
    "12/7（周六），2024上半年，2020级，2000级台阶。": "十二月七日（周六），二零二四上半年，二零二零级，"
    "两千级台阶。",
    "国道G318，502路，2单元202，编号A-2024-001。": "国道G三幺八，五零二路，二单元二零二，"
    "编号A二零二四杠零零一。",
    "传真（021）63221235，1080P，35μg/m³，2分之1。": "传真零二幺六三二二幺二三五，一零八零P，"
    "三十五微克每立方米，二分之一。",
    "明朝（1368-1644），卒于649年7月，Q1-Q3。": "明朝（一三六八到一六四四），卒于六四九年七月，Q一到Q三。",
    "歼-20，东风-41，C919，降-5。": "歼二十，东风四十一，C九一九，降负五。",
    "公元前221年，公元前2世纪，唐（618—907年），树龄（100-200年）。": "公元前二二一年，公元前二世纪，"
    "唐（六一八到九零七年），树龄（一百到两百年）。",
    "北纬39°54′，sin30°=1/2，λ=5，B2口。": "北纬三十九度五十四分，sin三十度等于二分之一，λ等于五，B二口。",
    "身高1米75，12秒88，3米20个，销量No.1。": "身高一米七五，十二秒八八，三米二十个，销量第一。",
    "iPhone 15 Pro Max 256GB售价9999元。": "iPhone 十五 Pro Max 两百五十六GB售价九千九百九十九元。",
}


@pytest.mark.parametrize("written", CHINESE)
def test_what_people_write_in_chinese(written: str) -> None:
    assert said(written) == bare(CHINESE[written])
