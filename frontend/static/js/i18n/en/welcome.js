/** English: the strip that tells newcomers of the studio where they are, and warnings before a text is spoken. */
export default {
  "welcome.title": "Welcome",
  "welcome.what": "VoxFleet speaks your text while it is still being generated, on computers of your own.",
  "welcome.asking": "Asking which model is there …",
  "welcome.none": "No model is loaded yet.",
  "welcome.model": "{model} runs on {device} and speaks {languages}.",
  "welcome.modelAny": "{model} runs on {device}.",
  "welcome.more": ({ names, count }) => `${names} and ${count} more`,
  "welcome.device.cpu": "the CPU",
  "welcome.device.cuda": "a GPU",
  "welcome.device.other": "an accelerator",
  "welcome.hear": "Hear a first sentence",
  "welcome.better": "Other models",
  "welcome.close": "Close this notice",

  "models.title": "Other models",
  "models.about": "The bundled voice is small, so that it speaks at once on any computer. Larger models know more languages and come closer to a recording. Stop the service and start it with one of these, in the folder of your copy:",
  "models.small": "English and Chinese, the smallest of the published ones",
  "models.middle": "English and Chinese, 44.1 kHz",
  "models.large": "30 languages, 48 kHz, wants a GPU",
  "models.copy": "Copy the command",
  "models.docs": "The weights are downloaded once. All options are in docs/operating.md of your copy.",

  "warning.script": ({ model, languages, scripts }) =>
    `${model} speaks ${languages}. What is written in ${scripts} letters would come out as noise.`,
  "warning.anyway": "Generate anyway",
};
