"""Chinese: units that the grammars do not know, and their names."""

from __future__ import annotations

import re

UNITS = {
    "m²": "平方米", "㎡": "平方米", "km²": "平方公里", "cm²": "平方厘米", "m³": "立方米",
    "V": "伏", "kV": "千伏", "mV": "毫伏", "mA": "毫安", "mg": "毫克", "µg": "微克", "μg": "微克",
    "mL": "毫升", "dL": "分升", "dl": "分升", "dB": "分贝", "Pa": "帕", "hPa": "百帕", "kPa": "千帕",
    "MPa": "兆帕", "µm": "微米", "μm": "微米", "Ω": "欧姆", "kΩ": "千欧",
    "mg/kg": "毫克每千克", "mg/L": "毫克每升", "mmol/L": "毫摩尔每升", "μmol/L": "微摩尔每升",
    "mmHg": "毫米汞柱", "μg/m³": "微克每立方米", "µg/m³": "微克每立方米", "mg/m³": "毫克每立方米",
    "fps": "帧每秒",
    "W": "瓦", "kW": "千瓦", "kWh": "千瓦时", "Hz": "赫兹", "kHz": "千赫兹", "MHz": "兆赫兹", "GHz": "吉赫兹",
    "km/h": "公里每小时", "m/s": "米每秒", "m/s²": "米每二次方秒", "m/s2": "米每二次方秒",
    "m/s^2": "米每二次方秒",
    "ms": "毫秒", "Mbps": "兆比特每秒", "Gbps": "吉比特每秒",
    "°C": "摄氏度", "℃": "摄氏度", "°F": "华氏度", "°": "度", "mAh": "毫安时",
}  # fmt: skip
UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
PER_UNIT = {
    "km²": "平方公里", "km2": "平方公里",
    "㎡": "平方米", "m²": "平方米", "m2": "平方米", "m³": "立方米", "m3": "立方米", "kg": "千克", "g": "克",
    "t": "吨", "L": "升", "mL": "毫升", "ml": "毫升",
    "km": "公里", "kWh": "千瓦时", "h": "小时", "min": "分钟",
}  # fmt: skip
"""What something costs so much of."""
