"""English as people write it in news, mails, recipes and chats: each is read as its reader would say it."""

from __future__ import annotations

import pytest

from benchmarks.text import bare
from gateway.text import normalise

SUMS_THAT_TELL_OF_A_NOUN = {
    "$15-an-hour wage": "fifteen dollar-an-hour wage",
    "I paid the $300 fee.": "I paid the three hundred dollar fee.",
    "Biden's $1.9 trillion plan": "Biden's one point nine trillion dollar plan",
    "The $1.2B deal closed.": "The one point two billion dollar deal closed.",
    "A new $300 monthly fee": "A new three hundred dollar monthly fee",
    "workers' $15 wage": "workers' fifteen dollar wage",
    "two $5 bills": "two five dollar bills",
    "the $5-10 range": "the five to ten dollar range",
    "the $2.50 fare": "the two dollar and fifty cent fare",
    'the "$64,000 question"': "the sixty-four thousand dollar question",
    "the USD 300 fee": "the three hundred US dollar fee",
    "the £5 note": "the five pound note",
}
SUMS_ALONE = {
    "The $300 was spent.": "The three hundred dollars was spent.",
    "The $300 I gave": "The three hundred dollars I gave",
    "his $2 million on it": "his two million dollars on it",
    "gave her $300 cash": "gave her three hundred dollars cash",
    "It's $5 extra, that's $20 total.": "It's five dollars extra, that's twenty dollars total.",
    "my last $20": "my last twenty dollars",
    "the $40 each paid": "the forty dollars each paid",
    "the $5 million raised": "the five million dollars raised",
    "It costs $5 now.": "It costs five dollars now.",
}
CURRENCIES = {
    "RMB 1.5bn, USD5m, 2m EUR": "one point five billion yuan, five million US dollars, two million euros",
    "RMB 500-800": "five hundred to eight hundred yuan",
    "1 USD = 7.2 CNY": "one US dollar equals seven point two yuan",
    "MXN 200, 1,000 BRL, NOK 99": "two hundred Mexican pesos, one thousand Brazilian reais,"
    " ninety-nine Norwegian kroner",
    "€1.234,50, then": "one thousand two hundred thirty-four euros and fifty cents, then",
    "₹5 lakh, ₹2.5 crore": "five lakh rupees, two point five crore rupees",
    "₱500 or +$5": "five hundred pesos or plus five dollars",
}
RATES = {
    "13.5 g/dL, 22.4 L/mol, 67 y/o": "thirteen point five grams per deciliter, twenty-two point four"
    " liters per mole, sixty-seven year old",
    "max 3 g/day or 500 mg/d": "max three grams per day or five hundred milligrams per day",
    "10 mg/kg/day": "ten milligrams per kilogram per day",
    "250mg/5ml, 15 L/100km": "two hundred fifty milligrams per five milliliters, fifteen liters per"
    " one hundred kilometers",
    "200g/7oz or 100ml/3½fl oz": "two hundred grams or seven ounces or one hundred milliliters or"
    " three and a half fluid ounces",
    "1.80 m / 82 kg": "one point eight zero meters, eighty-two kilograms",
    "eGFR >60 mL/min/1.73m²": "eGFR greater than sixty milliliters per minute per one point seven"
    " three square meters",
    "3 times/week": "three times per week",
    "5 cents per min., 60 beats per min.": "five cents per minute, sixty beats per minute",
    "$3 per sq. ft. here": "three dollars per square foot here",
    "per se, per person": "per se, per person",
    "$2.50/ea.": "two dollars and fifty cents each",
}
MEASURES = {
    "the 4x100m relay": "the four by one hundred meters relay",
    "2x faster, 1.5x the size, 2x + 5 = 9": "two times faster, one point five times the size, two x"
    " plus five equals nine",
    "158.4m votes, 2m people": "one hundred fifty-eight point four million votes, two million people",
    "5bn tonnes": "five billion tonnes",
    "5m long, 3 m deep": "five meters long, three meters deep",
    "a (14-oz) can, a 90-min film, 5-10-km runs": "a fourteen ounce can, a ninety minute film, five to"
    " ten kilometer runs",
    "the 10 km race, my 5 kg dumbbell, the 5 km were hard": "the ten kilometer race, my five kilogram"
    " dumbbell, the five kilometers were hard",
    "421 ppm, 28 pts, 40 mpg": "four hundred twenty-one parts per million, twenty-eight points, forty"
    " miles per gallon",
    "120/80 mmHg": "one hundred twenty over eighty millimeters of mercury",
    "3 cu. ft., 12 fl. oz., 5 lbs., and": "three cubic feet, twelve fluid ounces, five pounds, and",
    '1/4" bolt, a 6" sub, 12" by 5".': "one quarter inch bolt, a six inch sub, twelve inches by five inches.",
    'say(format="mp3").audio, ["cuda:0", "cuda:1"]': 'say(format="mp three").audio, ["cuda:zero",'
    ' "cuda:one"]',
    "about 10^8 m/s or 10^8m/s": "about ten to the power of eight meters per second or ten to the"
    " power of eight meters per second",
    'He said "I am 12" and left.': 'He said "I am twelve" and left.',
}
DATES = {
    "5m ago, 3d ago, 1y ago": "five minutes ago, three days ago, one year ago",
    "2024-05, 2009-10, Q2-Q3": "May twenty twenty-four, two thousand nine to ten, Q two to Q three",
    "on 4 May '24": "on the fourth of May twenty-four",
    "standup (10/24), ships 11/5, ends 12/31!": "standup (October twenty-fourth), ships November"
    " fifth, ends December thirty-first!",
    "(3/4) or (1/2)": "(three quarters) or (one half)",
    "M-F 9-5, Apr.–June 2020": "Monday to Friday nine to five, April to June twenty twenty",
    "80s music, the 00s, an 80s timeout": "eighties music, the two thousands, an eighty second timeout",
    "at 11:59 p.m. PT, 8pm ET (12:15 a.m. EST)": "at eleven fifty-nine p m P T, eight p m E T (twelve"
    " fifteen a m E S T)",
    "9 a.m. The end. 5 CT scans": "nine a m. The end. five CT scans",
    "5pm EST/2pm PST": "five p m E S T, two p m P S T",
    "at 1430 hrs or 0900 hours, 1200 hours of work": "at fourteen thirty hours or oh nine hundred"
    " hours, one thousand two hundred hours of work",
    "Mar '24, class of '09, Q1'23": "March twenty-four, class of oh nine, Q one twenty-three",
    "the 1930s–40s, 1980s-1990s": "the nineteen thirties to forties, nineteen eighties to nineteen nineties",
    "est. 1990, built 1850, est. 2000 people": "established nineteen ninety, built eighteen fifty,"
    " estimated two thousand people",
    "(2020 census), 2020/21, 1999/00": "(twenty twenty census), twenty twenty to twenty-one, nineteen"
    " ninety-nine to two thousand",
    "OOO 12/24–1/2": "OOO December twenty-fourth to January second",
    "5/16-3/8 inch": "five sixteenth to three eighths inch",
    "On the 5th of Nov., at 6.": "On the fifth of November, at six.",
    "closed Sun. & Mon./Wed. mornings": "closed Sunday and Monday/Wednesday mornings",
    "Der Zug um 8.05 Uhr, 17.32 Uhr, 9.00-12.30 Uhr": "Der Zug um eight oh five Uhr, seventeen thirty-two"
    " Uhr, nine o'clock to twelve thirty Uhr",
    "dep. 07.05, doors open 19.30, rose 5.30 to 17.30": "departs seven oh five, doors open nineteen"
    " thirty, rose five point three zero to seventeen point three zero",
    "Open from 9.30 to 17.15 daily.": "Open from nine thirty to seventeen fifteen daily.",
    "I saw the Sun. It rose.": "I saw the Sun. It rose.",
}
NUMBERS_THAT_NAME = {
    "Hauptstr. 5, 10115 Berlin, or Hofstr. 5a, 72070 Tübingen": "Hauptstr. five, one zero one one five"
    " Berlin, or Hofstr. five a, seven two zero seven zero Tübingen",
    "D-80331 München, CH-8001 Zürich": "D eight zero three three one München, C H eight zero zero one Zürich",
    "20095 Hamburg": "two zero zero nine five Hamburg",
    "10000 Steps": "ten thousand Steps",
    "In May, 12345 Germans came": "In May, twelve thousand three hundred forty-five Germans came",
    "Let $x^2$ be $f(x)$, not $5 or $6": "Let x squared be f(x), not five dollars or six dollars",
    "9/10 dentists, 7/10 miles": "nine out of ten dentists, seven tenths miles",
    "from 03/2024 to 9/2025": "from March twenty twenty-four to September twenty twenty-five",
    "log₂8, Windows 10/11": "log base two of eight, Windows ten, eleven",
    "AK-47s, RTX 4090, ISO 8601": "AK forty-sevens, RTX forty ninety, ISO eighty-six oh one",
    "voted 14-0-1, order #112-9876543": "voted fourteen, zero, one, order number one one two, nine"
    " eight seven six five four three",
    "$1.39 est., $1.5MM, ~US$85": "one dollar and thirty-nine cents estimate, one point five million"
    " dollars, about eighty-five US dollars",
    "+/- 5%, a slope of -1/2, 1-1/2": "plus or minus five percent, a slope of minus one half, one and a half",
    "sin 30° = 0.5, a !== b": "sin thirty degrees equals zero point five, a is not equal to b",
    "1 Cor. 13:4-7; Gen 1:1; 2 Tim 3:16": "First Corinthians thirteen, four to seven; Genesis one one;"
    " Second Timothy three sixteen",
    "Tim 4:30 pm": "Tim four thirty p m",
    "Meeting ID 845 1234 5678": "Meeting ID eight four five, one two three four, five six seven eight",
    "PO #4500123456 and #12": "PO number four five zero zero one two three four five six and number twelve",
    "1-800-273-TALK": "one, eight hundred, two seven three TALK",
    "BA2490, acct 12345678, CVV 123": "BA twenty-four ninety, acct one two three four five six seven"
    " eight, CVV one two three",
    "GB29 NWBK 6016 1331 9268 19": "G B two nine, N W B K, six zero one six, one three three one, nine"
    " two six eight, one nine",
    "call 1234567890 for 2000000000 people": "call one two three four five six seven eight nine zero"
    " for two billion people",
    "exp. 09/27": "exp. oh nine twenty-seven",
    "3-for-4, 2-in-1, 9-to-5": "three for four, two in one, nine to five",
    "Roe v. Wade, Arsenal v Chelsea": "Roe versus Wade, Arsenal versus Chelsea",
    "the XXth century, Ste 200, Hwy 101": "the twentieth century, Suite two hundred, Highway one hundred one",
    "(14 pp.), n/a, b/c it is": "(fourteen pages), N A, because it is",
    "80/20, 85/100, 1/100, 6/8 time": "eighty twenty, eighty-five out of one hundred, one one"
    " hundredth, six eight time",
    "8/10 would buy; 7/10 of a mile": "eight out of ten would buy; seven tenths of a mile",
    "an A+, got a B-, A- and B-levels, C++": "an A plus, got a B minus, A- and B-levels, C plus plus",
    "x = y[0] + 5": "x equals y[zero] plus five",
    "- [x] done\n- [ ] todo": "done todo",
}
NAMES_OF_FILES = {
    "~/.ssh/config and /home/me/.bashrc": "tilde slash dot ssh slash config and slash home slash me"
    " slash dot bashrc",
    "in C:\\Users\\me\\notes.txt now": "in C colon backslash Users backslash me backslash notes dot txt now",
    "C:\\Program Files\\App\\a.exe": "C colon backslash Program Files backslash App backslash a dot exe",
    "from C:\\a to D:\\b.": "from C colon backslash a to D colon backslash b.",
    "\\\\server\\share": "backslash backslash server backslash share",
    "%APPDATA%\\x": "percent APPDATA percent backslash x",
    "src\\main.py": "src backslash main dot py",
    "data.tar.gz, IMG_2034.JPG": "data dot tar dot gz, IMG underscore two zero three four dot JPG",
}
NUMBERS_OF_PAGES = {
    "See pp. xii–xv.": "See pages twelve to fifteen.",
    "pages i–x and p. iv": "pages one to ten and page four",
    "the page i made": "the page i made",
    "vol. IV": "volume four",
    "Just a sec. I think so.": "Just a sec. I think so.",
    "24/7/365 support": "twenty-four seven, three sixty-five support",
}


def said(written: str) -> str:
    return bare(normalise(written, "en").text)


@pytest.mark.parametrize("written", SUMS_THAT_TELL_OF_A_NOUN)
def test_a_sum_before_its_noun_is_singular(written: str) -> None:
    assert said(written) == bare(SUMS_THAT_TELL_OF_A_NOUN[written])


@pytest.mark.parametrize("written", SUMS_ALONE)
def test_a_sum_by_itself_is_plural(written: str) -> None:
    assert said(written) == bare(SUMS_ALONE[written])


@pytest.mark.parametrize("written", CURRENCIES)
def test_currencies_are_named(written: str) -> None:
    assert said(written) == bare(CURRENCIES[written])


@pytest.mark.parametrize("written", NAMES_OF_FILES)
def test_files_are_named_sign_by_sign(written: str) -> None:
    assert said(written) == bare(NAMES_OF_FILES[written])


@pytest.mark.parametrize("written", NUMBERS_OF_PAGES)
def test_pages_of_a_foreword_are_counted(written: str) -> None:
    assert said(written) == bare(NUMBERS_OF_PAGES[written])


@pytest.mark.parametrize("written", RATES)
def test_a_slash_between_measures_says_per_or_or(written: str) -> None:
    assert said(written) == bare(RATES[written])


@pytest.mark.parametrize("written", MEASURES)
def test_measures_are_named(written: str) -> None:
    assert said(written) == bare(MEASURES[written])


@pytest.mark.parametrize("written", DATES)
def test_dates_and_times_are_said(written: str) -> None:
    assert said(written) == bare(DATES[written])


@pytest.mark.parametrize("line", ["***", "* * *", "___", "---"])
def test_a_line_between_paragraphs_is_not_said(line: str) -> None:
    assert normalise(f"One.\n{line}\nTwo.", "en").text == "One.\n\nTwo."


def test_a_sentence_goes_on_behind_what_is_shortened() -> None:
    """A full stop that is left is a pause."""
    assert normalise("At 9 p.m. PT we met on the 5th of Nov., closed Sun. & Mon. nights.", "en").text == (
        "At nine p m P T we met on the fifth of November, closed Sunday and Monday nights."
    )
    assert normalise("It is at I.B.M. He likes it, etc. The U.S. Army", "en").text == (
        "It is at I B M. He likes it, etcetera. The U S Army"
    )
    assert normalise("We met on Mon. Then we left on 5 Nov.", "en").text == (
        "We met on Monday. Then we left on the fifth of November."
    )


@pytest.mark.parametrize("written", NUMBERS_THAT_NAME)
def test_numbers_that_name_or_rate_something_are_said(written: str) -> None:
    assert said(written) == bare(NUMBERS_THAT_NAME[written])


@pytest.mark.parametrize("text", ["Send $wav and ${wav}.txt to $(id) there", "$AAPL rose and $TSLA fell"])
def test_names_behind_a_dollar_sign_are_no_mathematics(text: str) -> None:
    assert normalise(text, "en").text.count("$") == text.count("$")
