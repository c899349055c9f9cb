"""Lines of forms, recipes, games, adverts and sums: each is read as its readers say it."""

from __future__ import annotations

import pytest

from benchmarks.text import bare
from gateway.text import normalise

ENGLISH = {
    "Enroll by 8/15, it was reduced by 3/25, cut by 1/25": "Enroll by August fifteenth, it was reduced by"
    " three twenty-fifths, cut by one twenty-fifth",
    "6–10 p.m. @ noon": "six to ten p m at noon",
    "550 × 570 km, a 10ft x 12ft room, 2x4s and 2x6s": "five hundred fifty by five hundred seventy"
    " kilometers, a ten foot by twelve feet room, two by fours and two by sixes",
    "1 T. oil; 2 t. salt; ½ t. sugar; 5 t of coal": "one tablespoon oil; two teaspoons salt; one half"
    " teaspoon sugar; five tons of coal",
    "425˚, 1,50,000 rupees, XP 1,240/2,000, HP: 45/60": "four hundred twenty-five degrees, one hundred"
    " fifty thousand rupees, XP one thousand two hundred forty out of two thousand, HP forty-five out of"
    " sixty",
    "She's 5ft 6in and it's a 3/4-in. board": "She's five feet six inches and it's a three quarter inch"
    " board",
    "331.4M in 2020, 11.2K.": "three hundred thirty-one point four million in twenty twenty, eleven point"
    " two thousand",
    "1450 BCE–AD 476; 5 Geo. 3 c. 26": "fourteen fifty BCE to AD four hundred seventy-six; five Geo. three"
    " c. twenty-six",
    "3'42\" and 5'11\", ♩.=72": "three minutes forty-two seconds and five feet eleven inches, dotted"
    " quarter note equals seventy-two",
    "W 122° 19.9', f: ℝ → ℝ, aₙ, 1 + … + n, x_i − f(x_i)": "W one hundred twenty-two degrees nineteen"
    " point nine minutes, f: R to R, a n, one plus … plus n, x i minus f(x i)",
    "Dial *67; press # to end": "Dial star six seven; press pound to end",
    "the 747-400ER, 747-400": "the seven hundred forty-seven four hundred ER, seven hundred forty-seven to"
    " four hundred",
    "Chelsea 2 V Arsenal 1, pages 1,2 A boy, 3,5 A": "Chelsea two V Arsenal one, pages one,two A boy,"
    " three,five A",
    "4K@60fps": "four K at sixty F P S",
    '20½", ½" pipe; Jan.–Mar.; T+2 hrs': "twenty and a half inches, one half inch pipe; January to"
    " March; T plus two hours",
    "100%+, €3m+, 10k+ downloads": "one hundred percent plus, three million euros plus, ten thousand plus"
    " downloads",
    "para. 2, fn. 7, cl. 9.3, Rt. 66, Ep. 5": "paragraph two, footnote seven, clause nine point three,"
    " Route sixty-six, Episode five",
}


@pytest.mark.parametrize("written", ENGLISH)
def test_lines_of_english_text(written: str) -> None:
    assert bare(normalise(written, "en").text) == bare(ENGLISH[written])


CHINESE = {
    "键盘EX110 1.0A（RFC4648 section 4），Ubuntu 6.06 LTS。": "键盘EX幺幺零 一点零A（RFC四千六百四十八"
    " section 四），Ubuntu 六点零六 LTS。",
    "LV2024新款，春秋300多年，1.5/5米。": "LV二零二四新款，春秋三百多年，一点五斜杠五米。",
    "T+2日，T+0，波音747-400ER，表决结果11-1，跑了17:42。": "T加二日，T加零，波音七四七杠四零零ER，表决结果"
    "十一比一，跑了十七分四十二秒。",
    "8/15前，24秋季学期，14500元/学期，1-2周/次，204B教室。": "八月十五日前，二四秋季学期，一万四千五百元每"
    "学期，一到两周每次，二零四B教室。",
    "1984-93年，前221年-前207年，12/31-1/2放假，1/2-3/4杯。": "一九八四到九三年，前二二一年到前二零七年，十"
    "二月三十一日到一月二日放假，二分之一到四分之三杯。",
    "还剩1:52，双方98-97，决赛0-3。": "还剩一分五十二秒，双方九十八比九十七，决赛零比三。",
    "咳嗽3d，共7d，看3d电影。": "咳嗽三天，共七天，看三d电影。",
    "2.4A，800lm，10Gb/s，1/250s，f/2.8，4K@60fps，用时2m14s。": "二点四安，八百流明，十吉比特每秒，二百五"
    "十分之一秒，f 二点八，四K，六十帧每秒，用时两分十四秒。",
    "17mod5=2，k=-2/3，J12-J14，AQI 120，打120。": "十七mod五等于二，k等于负三分之二，J十二到J十四，AQI 一"
    "百二十，打幺二零。",
    "身高6'4\"，订单112-3456789，按#结束，№3，886": "身高六英尺四英寸，订单一一二杠三四五六七八九，按井号结"
    "束，第三，八八六",
    '6300余km，180万km2，75μg/m3，985/211高校，3/8"钻头。': "六千三百余公里，一百八十万平方公里，七十五微"
    "克每立方米，九八五、二一一高校，八分之三英寸钻头。",
}


@pytest.mark.parametrize("written", CHINESE)
def test_lines_of_chinese_text(written: str) -> None:
    assert normalise(written, "zh").text == CHINESE[written]
