/** Texts for who wants to hear something before writing anything. */
export const SAMPLES = [
  {
    name: "welcome",
    text: "Good morning. The kettle is on, the sun is coming in at the window, and there is nowhere you have to be today.",
  },
  { name: "pangram", text: "The quick brown fox jumps over the lazy dog." },
  {
    name: "harbour",
    text: "The fog lifted a little after six. One by one the boats in the harbour lit their lamps, and someone on the pier began to sing.",
  },
  { name: "numbers", text: "Flight two forty one to Lisbon leaves at a quarter past nine from gate seventeen." },
  {
    name: "story",
    text: "Nobody had wound the clock for years, and yet it was never wrong. On the morning it stopped, the whole street came out to ask what time it was. An old woman answered, without looking up from her knitting, that it was time somebody learned how to wind a clock.",
  },
];
