"""Chinese: where 2 is 两, and where 二, by what stands around it; beside the measure words of counting.py."""

from __future__ import annotations

from gateway.text.rules import Rule, rule

_ALONE = r"(?<![\dA-Za-z.,第])"
_ENDS = r"(?=[，。、；！？：）)\s]|$"
_COUNTED = (
    "个(?!月)|个月|次|天|年(?!级)|周|小时|分钟|秒|人|名|位|件|条|倍|米|公里|岁|片|杯|勺|种|家|本|辆|块|斤"
)
RULES: tuple[Rule, ...] = (
    rule(rf"{_ALONE}2(?=次{_ENDS}|[以之的了就后前都也是才过]))", "两"),
    rule(r"(?<=[了过这那前后天日周月年有共各近满超])2(?=次(?!方|元|函数|项))", "两"),
    rule(r"(?<=[了敲打拍点按击晃摇摸眨响磕跳闪])2(?=下(?!午|次|一))", "两"),
    rule(rf"{_ALONE}2(?=行(?![程者业])|角{_ENDS}|钱|\d分)|毛|旁|边(?!形))", "两"),
    rule(
        r"(?<=[分成为共有做练])2(?=组)|(?<![\dA-Za-z.,第])2(?=组(?:数据|对比|实验|照片|图|动作|数字|样本|患者|参数|人))",
        "两",
    ),
    rule(rf"{_ALONE}2(?=[室房]\d?[厅卫]|门(?:课|功课|学科|语言|外语|手艺|技术|考试))", "两"),
    rule(r"(?<=[室房厅])2(?=[厅卫])", "两"),
    rule(r"(?:^|(?<=[，。；：、（(刑保期限役龄验缓]))2(?=年(?![级生制]))", "两"),
    rule(rf"{_ALONE}2(?=\s?[到至或]\s?\d{{1,3}}(?:{_COUNTED}))", "两"),
    rule(r"(?<=[A-Za-z]\s)2(?=首[发批映日销]|代)", "二"),
    rule(r"(?<=[A-Z])2(?=[层座栋区])", "二"),
)
