/**
 * Texts to read aloud: about ten seconds, with most sounds of their language.
 */
export const PASSAGES = {
  en: "The beige hue on the waters of the loch impressed all, including the young queen, before she heard that measured voice again and chose to follow it home.",
  zh: "清晨的阳光洒在湖面上，几只白鹭轻轻飞过芦苇丛。老人放下手中的茶杯，微笑着说：这样的日子，最适合慢慢走路，慢慢说话。",
};
