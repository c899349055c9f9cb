"""Chinese as people write it in news, notices and chats: each is read as its reader would say it."""

from __future__ import annotations

import pytest

from benchmarks.text import bare
from gateway.text import normalise

SLASHES = {
    "2月/3月见，3楼/4楼都有。": "二月、三月见，三楼、四楼都有。",
    "价格5元/10元/20元不等。": "价格五元、十元、二十元不等。",
    "5kg/10kg的": "五千克、十千克的",
    "100元/3个，2次/3天，2片/次": "一百元每三个，两次每三天，两片每次",
    "5元/kg，6.5万/㎡，0.5元/kWh，5万/月": "五元每千克，六点五万每平方米，零点五元每千瓦时，五万每月",
    "质保3年/10万公里": "质保三年或十万公里",
    "3/4杯": "四分之三杯",
}
SCORES_AND_DATES = {
    "比分25-18、25-20、25-22。": "比分二十五比十八、二十五比二十、二十五比二十二。",
    "以25-18、25-20获胜": "以二十五比十八、二十五比二十获胜",
    "明天（3/15）见，3/16 14:30开会": "明天（三月十五日）见，三月十六日十四点三十分开会",
    "1/3 的人": "三分之一的人",
    "24年3月，23年底": "二四年三月，二三年底",
    "5·1假期，“9·18”，“11·11”": "五一假期，“九一八”，“十一十一”",
    "国发〔2023〕5号": "国发〔二零二三〕五号",
}
FIGURES = {
    "人均100+，50+人，10万+阅读，18+": "人均一百加，五十多人，十万加阅读，十八加",
    "3+4=7": "三加四等于七",
    "7×24小时": "七乘二十四小时",
    "59.00元，1,200.00元，12.50元": "五十九元，一千二百元，十二点五零元",
    "卡号6222 0210 0100 1234 567": "卡号六二二二，零二一零，零一零零，一二三四，五六七",
    "沪B·D8888，京AD12345": "沪B·D八八八八，京AD幺二三四五",
    "3×10^8m/s，10⁶Hz，2^10": "三乘以十的八次方米每秒，十的六次方赫兹，二的十次方",
    "加速度9.8m/s²": "加速度九点八米每二次方秒",
}
NAMES_OF_FILES = {
    "文件在C:\\Users\\me\\文档\\报告.docx": "文件在C冒号反斜杠Users反斜杠me反斜杠文档反斜杠报告点docx",
}


def said(written: str) -> str:
    return bare(normalise(written, "zh").text)


@pytest.mark.parametrize("written", SLASHES)
def test_a_slash_parts_what_is_alike_and_else_says_how_much_of_what(written: str) -> None:
    assert said(written) == bare(SLASHES[written])


@pytest.mark.parametrize("written", NAMES_OF_FILES)
def test_files_are_named_sign_by_sign(written: str) -> None:
    assert said(written) == bare(NAMES_OF_FILES[written])


@pytest.mark.parametrize("written", SCORES_AND_DATES)
def test_scores_and_dates_are_said(written: str) -> None:
    assert said(written) == bare(SCORES_AND_DATES[written])


@pytest.mark.parametrize("written", FIGURES)
def test_figures_are_said(written: str) -> None:
    assert said(written) == bare(FIGURES[written])
