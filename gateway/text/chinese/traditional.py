"""Chinese: characters of Taiwan and Hong Kong that rules and grammars look for, as the mainland writes them.

simplified("下午2點，3個")       # "下午2点，3个", for a rule to find
traditional("两点")              # "兩點": what it says
"""

from __future__ import annotations

_SIMPLE = (
    "万与专业东丝两个为举乐乡书亚亩亿仅从们价会传体侧兑兰关兹内册军决减击则创剂剧办动区华单卢卫厂厅压"
    "厘厦县参双号吨启员呜响团国图圣场块声壶处备头夺奖奥学宁实宽对将尔层届属岁岗岛币师帧广庆应开张弥弹"
    "当录径总恒惨战户扫抢护报拨择挥据摄摇敌数无时昼显晋晕机条来极栋样档楼横欧歼毕汤沪泻浏浓涨温满点热"
    "犹猪玛琼电画盏盘码硕礼种积穷笔类粤红约级纪纬纳纸线练组经结统绩缓缕编缩网罗胜脚艺节苏营萨规视览订"
    "议讯记论设证评试诗话诞语误说请读课调贝负败账货购贯贰贵费资赔赛赣趋车转轮轰轻载辆边辽达过运这进连"
    "选递邮释针钱钻铁销锅错键镇镑长门闪问间闽阅队阳阴阵阶际陕险韩页顶顷项顿预领颗题额风飞馆马验骤鲁鸡"
    "黄龄龙"
)
_TRADITIONAL = (
    "萬與專業東絲兩個為舉樂鄉書亞畝億僅從們價會傳體側兌蘭關茲內冊軍決減擊則創劑劇辦動區華單盧衛廠廳壓"
    "釐廈縣參雙號噸啟員嗚響團國圖聖場塊聲壺處備頭奪獎奧學寧實寬對將爾層屆屬歲崗島幣師幀廣慶應開張彌彈"
    "當錄徑總恆慘戰戶掃搶護報撥擇揮據攝搖敵數無時晝顯晉暈機條來極棟樣檔樓橫歐殲畢湯滬瀉瀏濃漲溫滿點熱"
    "猶豬瑪瓊電畫盞盤碼碩禮種積窮筆類粵紅約級紀緯納紙線練組經結統績緩縷編縮網羅勝腳藝節蘇營薩規視覽訂"
    "議訊記論設證評試詩話誕語誤說請讀課調貝負敗賬貨購貫貳貴費資賠賽贛趨車轉輪轟輕載輛邊遼達過運這進連"
    "選遞郵釋針錢鑽鐵銷鍋錯鍵鎮鎊長門閃問間閩閱隊陽陰陣階際陝險韓頁頂頃項頓預領顆題額風飛館馬驗驟魯雞"
    "黃齡龍"
)
_SEVERAL = (
    "醜於雲餘脩齣劃製昇陞捲曆歷發髮隻檯臺颱後週迴傢侷佈並併徵誌纔摺麴朮術槓盃闆註毬緻獲穫濛矇錶証讚贊"
    "痠裡鍾鐘麵"
)
"""Which are written like others on the mainland."""
_SEVERAL_SIMPLE = (
    "丑于云余修出划制升升卷历历发发只台台台后周回家局布并并征志才折曲术术杠杯板注球致获获蒙蒙表证赞赞"
    "酸里钟钟面"
)
_TO_SIMPLE = str.maketrans(_TRADITIONAL + _SEVERAL, _SIMPLE + _SEVERAL_SIMPLE)
_FROM_SIMPLE = str.maketrans(_SIMPLE, _TRADITIONAL)


def simplified(text: str) -> str:
    """`text` for rules to look at: as long as it was, and the same where it has none of the characters."""
    return text.translate(_TO_SIMPLE)


def traditional(text: str) -> str:
    """`text`, which a rule says, as the text around it is written."""
    return text.translate(_FROM_SIMPLE)
