"""Ordinary prose, in which what readers of one subject say is not found."""

from __future__ import annotations

import pytest

from benchmarks.text import bare
from gateway.text import normalise

ENGLISH = {
    "At 10:30 a man came; 9:00 a - 5:00 p; 8:15a today": "At ten thirty a man came; nine o'clock a m - five"
    " o'clock p m; eight fifteen a m today",
    "Program Files (x86), for Linux (x64), buttons (x6)": "Program Files (x eighty-six), for Linux (x"
    " sixty-four), buttons (times six)",
    "It leaves 3.50 euros, leaving 10.25 million; we arrive at 2.35 as the mean; the 4.05 train departs"
    " 17.32 from Rome, leaves at 18.05.": "It leaves three point five zero euros, leaving ten point two five"
    " million; we arrive at two point three five as the mean; the four point zero five train departs"
    " seventeen thirty-two from Rome, leaves at eighteen oh five.",
    "The numbers 10:1, rev 2:10, the judges 3:2; tell Mark 5:30-6; 1 kings 3:9": "The numbers ten to one, rev"
    " two ten, the judges three to two; tell Mark five thirty to six; First Kings three nine",
    "A 5/16-18 bolt, polled 10/16-18": "A five sixteenth to eighteen bolt, polled October sixteenth to"
    " eighteenth",
    "Joe's ($$) & Kim's ($$), $$2x + 3y$$": "Joe's ($$) and Kim's ($$), two x plus three y",
    '"Area 51" display, “Route 66” wide, a 6.1" display, 45"-wide cotton': '"Area fifty-one" display, “Route'
    " sixty-six” wide, a six point one inch display, forty-five inch-wide cotton",
    "Prednisone 40 mg x1d": "Prednisone forty milligrams for one day",
    "Go 3/4 of the way, Java 8/11": "Go three quarters of the way, Java eight, eleven",
}
CHINESE = {
    "代号“47”的特工和“双11”的销量，55”的电视。": "代号“四十七”的特工和“双十一”的销量，五十五英寸的电视。",
    '“二战1945”电视剧，"1984"电视剧，55"屏和65"曲面屏。': "“二战一千九百四十五”电视剧，"
    '"一千九百八十四"电视剧，五十五英寸屏和六十五英寸曲面屏。',
    "18k金戒指，320k码率，跑了10k，月薪10-15k，底薪8k~9k，15k star，QPS 5k。": "十八k金戒指，三百二十k码率，"
    "跑了十k，月薪一万到一点五万，底薪八千到九千，一点五万 star，QPS 五千。",
    "手机512GB 5999元，16 GB 2400元，按GB 2760。": "手机五百一十二GB 五千九百九十九元，十六 GB 两千四百元，"
    "按GB 二七六零。",
    "Na2CO3·10H2O是晶体，24H1营收。": "Na二CO三·十H二O是晶体，二四H一营收。",
}


@pytest.mark.parametrize("written", ENGLISH)
def test_english_prose(written: str) -> None:
    assert bare(normalise(written, "en").text) == bare(ENGLISH[written])


@pytest.mark.parametrize("written", CHINESE)
def test_chinese_prose(written: str) -> None:
    assert bare(normalise(written, "zh").text) == bare(CHINESE[written])
