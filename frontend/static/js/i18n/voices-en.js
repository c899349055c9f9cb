/** English: the words of voices, wherever they are chosen or made. */
export default {
  "voices.title": "Voice",
  "voices.new": "New voice",
  "voices.none": "This model speaks with its own voice.",
  "voices.noMatch": "No voice matches.",
  "voices.own": "the model's own",
  "voices.search": "Search voices",
  "voices.language": "Language",
  "voices.allLanguages": "All languages",
  "voices.preview": "Hear {name}",
  "voices.edit": "Edit {name}",
  "voices.lacksConsent": "needs consent",
};
