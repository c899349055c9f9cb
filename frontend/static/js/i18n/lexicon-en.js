/** English: the words of the lexicon of pronunciation. */
export default {
  "lexicon.open": "Pronunciation",
  "lexicon.title": "Pronunciation",
  "lexicon.about": "Words that you want said otherwise than they are written. They hold in everything you have spoken.",
  "lexicon.word": "Word",
  "lexicon.spoken": "Say it like",
  "lexicon.hint": "In small letters it stands for any case; with a capital for just that spelling.",
  "lexicon.add": "Keep",
  "lexicon.search": "Search words",
  "lexicon.none": "No words yet.",
  "lexicon.noMatch": "No word matches.",
  "lexicon.edit": "Change {word}",
  "lexicon.remove": "Forget {word}",
  "lexicon.room": "{count} of {most} words",
  "lexicon.missing.word": "Write the word first.",
  "lexicon.missing.spoken": "Write how it is said.",
  "lexicon.close": "Done",
};
