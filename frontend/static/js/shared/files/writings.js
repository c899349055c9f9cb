/**
 * How often the letters of a language, and the characters of Chinese, Japanese and Korean, stand in texts: the tables
 * of the service (gateway/documents/reader/plain/writings.py, where they are told of).
 */
export const LETTERS = {
  en: "eatinosrldcumhpgfbykwvxjzqé",
  fr: "eisnrtaoludcpémfgvhbqxèêyàjzkôwîçûùœïëæ",
  de: "enirtsadlughcombfküzpwväöyxßjqé",
  es: "eaonirsdcltupmóbfvgáhíqxyjzúéñkw",
  pt: "oearisdntmclupvãfçgbháqíxézóúõêjkwyâàü",
  it: "eiaontlrscudpmgvfzèbhàqòyùkwxéîç",
  sv: "entarisldokgmäfvpuöåcbhyjxwéz",
  da: "erntisldakgomfvupæbøhåyjcéxwöäz",
  fi: "tieansäolkumrvypdjhöcbgfxwå",
  is: "anristelkðugmdíáfvobphóyjúýæöþcéxwz",
  nl: "enatirodslgpkvbmuhcwëfjézïyxóäöšè",
  ca: "eaisrtlnodcupmfbgóxvqhàéíèzòçújykïwü",
  pl: "aieonwzrtyskpcdulmjgłbśżęąóhćfńźvxq",
  cs: "oenatsrvpilukídzámcbyhjřéýčžěšgfůxwúňóďťöü",
  sk: "aoenirtvspkludzmábcyhčjíýéúťžšľfgxóňäôwĺďq",
  hu: "eatlsnkrzoáimégvybhdpfjícóuöőüúűxw",
  hr: "aieonrtjkspudlvmzčgbcšžćhfđwxy",
  sl: "aeionrtkvspldjmzčubgšcžhfxy",
  ro: "eiartnuclsoădpmfţzgbvşîhxâkjwy",
  tr: "aielrnısktmdyuobşçgüzcğpvöhfxwjâîûq",
  lt: "iasteronkulmpdvgšyjėųbįžąfcčūzhęxw",
  lv: "aisterunkolāmpdvējzīgbšcfļūņžhķxģčy",
  et: "aietslukndmrovpägõjühbföcšxžyw",
  vi: "nhtic\u0323gaêôu\u0301\u0309ođưmpk\u0300ârơlby\u0303dsáàevăóxíùqfúéw",
  ru: "оеаинтрслвкпдмуяызьйбчгжцфхюшщэёъ",
  uk: "аноиертівкслудпмзябьгйчжцхєфшюїщґ",
  bg: "аениотрсвдклзпмъябучгжйфцшщхюѝ",
  sr: "аеионртскупдвмлзјбгчшњцљжћфхђџ",
  el: "αοετινρσμηπκυςλίγδέόήάχωθύφώβξζψϊΐΰϋ",
  he: "יותהמלראנשבקפדסגעחטםכןצזךץ־ף\u05bc\u05b7\u05b8\u05b4\u05b0\u05b6\u05b5\u05b9\u05c1\u05c2",
  ar: "اليمرتوةندفبعسكحقجصأطهخشإغذز\u0651ضىثئءظؤ\u064f\u064b\u064e\u0650آـ\u0652",
  fa: "اينرهدتومبکسشلزپفگخجعصقحچطآظغذضثئ\u0651ژأء\u200c",
  th: "ารอนกเม\u0e48ล\u0e49ง\u0e35\u0e31ดต\u0e34ยสบว\u0e4cแไคปทหพจข\u0e39ะ\u0e37ชโซ\u0e38ำใฟถ" +
    "\u0e47ณภผธษฐ\u0e36ฮญศฉๆฝฤฏ",
};
export const CHARACTERS = {
  zhs: "的一是不了在有我他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里" +
    "后小么心多天而能好都然没于起还发成事只作当想看开手十用主行方又如前所本见经头面公同三已老从动两长" +
    "知谢早吃茶水您请问哪谁话章第件文数无法标定字使名表式语置示符列选器入输设指程包显目或效项分未部据" +
    "否序图存新务提错模加引格信进值间制接支区应取将键打录除息正户配误索更号认此",
  zht: "的一是不了在有我他這中大來上個國到說們為子和你地出道也時年得就那要下以生會自著去之過家學對可她裡" +
    "後小麼心多天而能好都然沒於起還發成事只作當想看開手十用主行方又如前所本見經頭面公同三已老從動兩長" +
    "知謝早吃茶水您請問哪誰話章第檔定無式案示字法使語件選入列數目設指名標取元位輸資項顯表區存程稱或新" +
    "否提置鍵文未分效錯訊號料引者誤合器格理將錄印值間正除重度符型結體模包令",
  ja: "人日本大出中見言思行生前手気自分時子今何来間年私女男山川水火木金土東西南北国語学校先名定数用使表" +
    "示指文力字合要効設列不一無変必入可動値更式正成作込能実書有関失場新除最読証対引敗終取置認形内画明" +
    "検了型義削鍵号続共再付同選外択理換方配開制接部上化下",
  ko: "이다니지을에수시습스는를하로가자정없기용의서일할사합트리어음인파위오한않문아드터부표그은있제보프" +
    "상대작치모크함션여만데중키해입력소으버도나설메업요된비전값식실되름면바디패형목라고경동성행들적세" +
    "구레명내야화록원조거장미테블너우와과네까안녕감늘날씨좋학교집엄마빠친랑",
};
const WESTERN = ["en", "fr", "de", "es", "pt", "it", "sv", "da", "fi", "is", "nl", "ca"];
const CENTRAL = ["pl", "cs", "sk", "hu", "hr", "sl", "ro"];
const CYRILLIC = ["ru", "uk", "bg", "sr"];
const OF_LATIN = {
  "windows-1252": WESTERN,
  "windows-1250": CENTRAL,
  "iso-8859-2": CENTRAL,
  "windows-1254": ["tr"],
  "windows-1257": ["lt", "lv", "et"],
  "windows-1258": ["vi"],
};
const OF_OTHERS = {
  "windows-1251": CYRILLIC,
  "koi8-u": CYRILLIC,
  ibm866: CYRILLIC,
  "iso-8859-5": CYRILLIC,
  "windows-1253": ["el"],
  "iso-8859-7": ["el"],
  "windows-1255": ["he"],
  "windows-1256": ["ar", "fa"],
  "windows-874": ["th"],
};
const OF_MANY = {
  gb18030: ["zhs", "zht"],
  big5: ["zht"],
  shift_jis: ["ja"],
  "euc-jp": ["ja"],
  "euc-kr": ["ko"],
};
export const LATIN = Object.keys(OF_LATIN);
export const ENCODINGS = { ...OF_LATIN, ...OF_OTHERS, ...OF_MANY };
