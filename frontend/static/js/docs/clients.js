/**
 * How programs that speak to other services use this one: a page each, with what is to be pasted.
 *
 * docs/clients.md says more, and which version of each was tried.
 */
import { h } from "../shared/page/dom.js";
import { codeTabs } from "./code-tabs.js";

/** Code by client, with the address of the gateway filled in. Words: "docs.client.<id>". */
export const CLIENTS = [
  {
    id: "open-webui",
    name: "Open WebUI",
    code: (origin) => ({
      environment: [
        "AUDIO_TTS_ENGINE=openai",
        `AUDIO_TTS_OPENAI_API_BASE_URL=${origin}/v1`,
        "AUDIO_TTS_OPENAI_API_KEY=any",
        "AUDIO_TTS_MODEL=tts-1",
        "AUDIO_TTS_VOICE=alloy",
      ].join("\n"),
    }),
  },
  {
    id: "home-assistant",
    name: "Home Assistant",
    code: () => ({ shell: "VOXFLEET_HOST=0.0.0.0 VOXFLEET_WYOMING_PORT=10200 ./start_all.sh" }),
  },
  {
    id: "livekit",
    name: "LiveKit",
    code: (origin) => ({
      OpenAI: `from livekit.plugins import openai\n\ntts = openai.TTS(base_url="${origin}/v1", api_key="any")`,
      ElevenLabs: `from livekit.plugins import elevenlabs\n\ntts = elevenlabs.TTS(base_url="${origin}/v1", api_key="any", voice_id="default")`,
      Cartesia: `from livekit.plugins import cartesia\n\ntts = cartesia.TTS(base_url="${origin}", api_key="any", voice="default")`,
      Deepgram: `from livekit.plugins import deepgram\n\ntts = deepgram.TTS(base_url="${origin}/v1/speak", api_key="any", model="default")`,
      "Fish Audio": `from livekit.plugins import fishaudio\n\ntts = fishaudio.TTS(base_url="${origin}", api_key="any", voice_id="default")`,
    }),
  },
  {
    id: "pipecat",
    name: "pipecat",
    code: (origin) => {
      const socket = origin.replace(/^http/, "ws");
      return {
        Cartesia: `from pipecat.services.cartesia.tts import CartesiaTTSService\n\ntts = CartesiaTTSService(api_key="any", url="${socket}/tts/websocket", sample_rate=24000, settings=CartesiaTTSService.Settings(voice="default"))`,
        ElevenLabs: `from pipecat.services.elevenlabs.tts import ElevenLabsTTSService\n\ntts = ElevenLabsTTSService(api_key="any", url="${socket}", sample_rate=24000, settings=ElevenLabsTTSService.Settings(voice="default"))`,
        Deepgram: `from pipecat.services.deepgram.tts import DeepgramTTSService\n\ntts = DeepgramTTSService(api_key="any", base_url="${socket}", sample_rate=24000, settings=DeepgramTTSService.Settings(voice="default"))`,
        OpenAI: `from pipecat.services.openai.tts import OpenAITTSService\n\ntts = OpenAITTSService(api_key="any", base_url="${origin}/v1", settings=OpenAITTSService.Settings(voice="alloy"))`,
      };
    },
  },
  {
    id: "openai",
    name: "OpenAI SDK",
    code: (origin) => ({
      Python: [
        "from openai import OpenAI",
        "",
        `client = OpenAI(base_url="${origin}/v1", api_key="any")`,
        'client.audio.speech.create(model="tts-1", voice="alloy", input="Hello.").write_to_file("hello.mp3")',
      ].join("\n"),
      JavaScript: [
        'import { writeFile } from "node:fs/promises";',
        'import OpenAI from "openai";',
        "",
        `const client = new OpenAI({ baseURL: "${origin}/v1", apiKey: "any" });`,
        'const answer = await client.audio.speech.create({ model: "tts-1", voice: "alloy", input: "Hello." });',
        'await writeFile("hello.mp3", Buffer.from(await answer.arrayBuffer()));',
      ].join("\n"),
    }),
  },
  {
    id: "elevenlabs",
    name: "ElevenLabs SDK",
    code: (origin) => ({
      Python: [
        "from elevenlabs.client import ElevenLabs",
        "",
        `client = ElevenLabs(base_url="${origin}", api_key="any")`,
        'audio = b"".join(client.text_to_speech.convert("default", text="Hello."))',
      ].join("\n"),
    }),
  },
  {
    id: "cartesia",
    name: "Cartesia SDK",
    code: (origin) => ({
      Python: [
        "from cartesia import Cartesia",
        "",
        `client = Cartesia(base_url="${origin}", websocket_base_url="${origin.replace(/^http/, "ws")}", api_key="any")`,
        "audio = client.tts.generate(",
        '    model_id="sonic-3",',
        '    transcript="Hello.",',
        '    voice="default",',
        '    output_format={"container": "wav", "encoding": "pcm_s16le", "sample_rate": 24000},',
        ").read()",
      ].join("\n"),
    }),
  },
  {
    id: "deepgram",
    name: "Deepgram SDK",
    code: (origin) => {
      const socket = origin.replace(/^http/, "ws");
      return {
        Python: [
          "from deepgram import DeepgramClient",
          "from deepgram.environment import DeepgramClientEnvironment",
          "",
          "place = DeepgramClientEnvironment(",
          `    base="${origin}",`,
          `    production="${socket}",`,
          `    agent="${socket}",`,
          `    agent_rest="${origin}",`,
          ")",
          'client = DeepgramClient(api_key="any", environment=place)',
          'audio = b"".join(client.speak.v1.audio.generate(text="Hello."))',
        ].join("\n"),
      };
    },
  },
];

/** The client that an address names; undefined for none. */
export function clientOf(pathname) {
  return CLIENTS.find(({ id }) => pathname === `/docs/${id}`);
}

/** Links to the pages of all clients. */
export function clientLinks(here = null) {
  const links = CLIENTS.map((client) =>
    h("a", { href: `/docs/${client.id}`, "aria-current": client === here ? "page" : null, lang: "en" }, client.name),
  );
  return h("div", { class: "docs-clients" }, h("p", { class: "label", "data-i18n": "docs.clients" }), links);
}

/** The page of one. */
export function clientView({ id, name, code }) {
  return h(
    "section",
    { class: "docs-note", "aria-labelledby": "client" },
    h("h2", { id: "client", lang: "en" }, name),
    h("p", { "data-i18n": `docs.client.${id}` }),
    codeTabs(code(location.origin)),
    h("p", { class: "quiet", "data-i18n": "docs.client.keys" }),
  );
}
