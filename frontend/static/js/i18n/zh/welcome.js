/** Chinese: the strip that tells newcomers of the studio where they are, and warnings before a text is spoken. */
export default {
  "welcome.title": "欢迎",
  "welcome.what": "VoxFleet 在您自己的计算机上运行，边生成边朗读您的文字。",
  "welcome.asking": "正在查询可用的模型……",
  "welcome.none": "尚未加载模型。",
  "welcome.model": "{model} 在{device}上运行，会说{languages}。",
  "welcome.modelAny": "{model} 在{device}上运行。",
  "welcome.more": ({ names, count }) => `${names}等另外 ${count} 种语言`,
  "welcome.device.cpu": " CPU ",
  "welcome.device.cuda": " GPU ",
  "welcome.device.other": "加速器",
  "welcome.hear": "听第一句话",
  "welcome.better": "其他模型",
  "welcome.close": "关闭此提示",

  "models.title": "其他模型",
  "models.about": "自带的声音很小，因此在任何计算机上都能立即使用。更大的模型会说更多语言，也更接近录音中的声音。请停止服务，再在您副本的文件夹中用以下命令之一启动：",
  "models.small": "英语和中文，已发布模型中最小的一个",
  "models.middle": "英语和中文，44.1 kHz",
  "models.large": "30 种语言，48 kHz，需要 GPU",
  "models.copy": "复制命令",
  "models.docs": "权重只下载一次。所有选项见您副本中的 docs/operating.md。",

  "warning.script": ({ model, languages, scripts }) => `${model} 会说${languages}。用${scripts}书写的内容听起来会是噪声。`,
  "warning.anyway": "仍然生成",
};
