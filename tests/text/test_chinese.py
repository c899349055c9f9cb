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
DECIMALS_AND_DAYS = {
    "涨到12.3，得分10.5，版本10.15": "涨到十二点三，得分十点五，版本十点一五",
    "12.3×10^9/L，12.5kg，12.5%": "十二点三乘以十的九次方每升，十二点五千克，百分之十二点五",
    "12.5前完成，12.25是圣诞节": "十二月五日前完成，十二月二十五日是圣诞节",
    "涨了12.5后回落": "涨了十二点五后回落",
    "10.1-10.7放假，09.03开学": "十月一日到十月七日放假，九月三日开学",
    "5.20活动，5.6左右，时间：10.15": "五月二十日活动，五点六左右，时间：十月十五日",
    "11.11，得分11.11": "十一月十一日，得分十一点一一",
}
FIGURES = {
    "赔率1:3.5": "赔率一比三点五",
    "设$x^2$为$y$，价格$5和$6": "设x的平方为y，价格五美元和六美元",
    "2x²-5x+2=0，log₂8=3": "二x的平方减五x加二等于零，以二为底八的对数等于三",
    "长宽比16:10，100日元=4.85元": "长宽比十六比十，一百日元等于四点八五元",
    "速度=路程÷时间，每次2片": "速度等于路程除以时间，每次两片",
    "《2012》，粉丝10w+，报价2W，3k+评论": "《二零一二》，粉丝十万加，报价两万，三千加评论",
    "021-6888 8888-801，138****1234": "零二幺六八八八八八八八转八零幺，幺三八，幺二三四",
    "满300-40，250ml/1杯，147人/km²": "满三百减四十，两百五十毫升或一杯，一百四十七人每平方公里",
    "-10~-5℃，周一~周五，1班-3班": "负十到负五摄氏度，周一到周五，一班到三班",
    "哈哈666，Win10/11，凌晨2点45分": "哈哈六六六，Win十、十一，凌晨两点四十五分",
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


@pytest.mark.parametrize("written", DECIMALS_AND_DAYS)
def test_a_figure_with_a_point_is_a_day_where_that_is_told(written: str) -> None:
    assert said(written) == bare(DECIMALS_AND_DAYS[written])
