/** 简体中文: the words of the lexicon of pronunciation. */
export default {
  "lexicon.open": "读音",
  "lexicon.title": "读音",
  "lexicon.about": "写法和读法不同的词。它们对您合成的所有语音都有效。",
  "lexicon.word": "词",
  "lexicon.spoken": "读作",
  "lexicon.hint": "全小写的词不分大小写；含大写字母的词只对应这一种写法。",
  "lexicon.add": "保存",
  "lexicon.search": "查找词",
  "lexicon.none": "还没有词。",
  "lexicon.noMatch": "没有匹配的词。",
  "lexicon.edit": "修改 {word}",
  "lexicon.remove": "删除 {word}",
  "lexicon.room": "{count} 个词，最多 {most} 个",
  "lexicon.missing.word": "请先写出词。",
  "lexicon.missing.spoken": "请写出它的读法。",
  "lexicon.close": "完成",
};
