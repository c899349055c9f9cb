/** 简体中文: the words of voices, wherever they are chosen or made. */
export default {
  "voices.title": "音色",
  "voices.new": "新建音色",
  "voices.none": "此模型使用自己的音色。",
  "voices.noMatch": "没有匹配的音色。",
  "voices.own": "模型自带",
  "voices.search": "搜索音色",
  "voices.language": "语言",
  "voices.allLanguages": "所有语言",
  "voices.preview": "试听 {name}",
  "voices.edit": "编辑 {name}",
  "voices.lacksConsent": "需要同意",
};
