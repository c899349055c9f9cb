// OpenAI's and ElevenLabs' JavaScript SDKs. Run where they are installed; prints as `cases.py` does.
import assert from "node:assert/strict";

import { ElevenLabsClient } from "@elevenlabs/elevenlabs-js";
import OpenAI from "openai";

const { URL: url, KEY: key } = process.env;
const TEXT = "The doors open at nine. Please bring your ticket.";
const openai = new OpenAI({ apiKey: key, baseURL: `${url}/v1` });
const elevenlabs = new ElevenLabsClient({ apiKey: key, baseUrl: url });

async function bytesOf(stream) {
  let bytes = 0;
  for await (const chunk of stream) bytes += chunk.length;
  return bytes;
}

const cases = {
  async case_openai_every_format() {
    for (const response_format of ["mp3", "opus", "aac", "flac", "wav", "pcm"]) {
      const answer = await openai.audio.speech.create({
        model: "tts-1", voice: "nova", input: TEXT, response_format, speed: 1.2,
      });
      assert((await answer.arrayBuffer()).byteLength > 5000, response_format);
    }
  },
  async case_openai_errors_and_models() {
    const wrong = { model: "tts-1", voice: "nobody", input: TEXT };
    await assert.rejects(openai.audio.speech.create(wrong), OpenAI.NotFoundError);
    const [model] = (await openai.models.list()).data;
    assert.equal((await openai.models.retrieve(model.id)).id, model.id);
  },
  async case_elevenlabs_convert_and_stream() {
    const { textToSpeech } = elevenlabs;
    const options = { text: TEXT, outputFormat: "pcm_24000", voiceSettings: { speed: 1.1 } };
    assert((await bytesOf(await textToSpeech.convert("default", { text: TEXT }))) > 10_000);
    assert((await bytesOf(await textToSpeech.stream("default", options))) > 10_000);
  },
  async case_elevenlabs_with_times() {
    const { textToSpeech } = elevenlabs;
    const whole = await textToSpeech.convertWithTimestamps("default", { text: TEXT });
    assert.equal(whole.alignment.characters.join(""), TEXT);
    let text = "";
    for await (const piece of await textToSpeech.streamWithTimestamps("default", { text: TEXT })) {
      text += piece.alignment?.characters.join("") ?? "";
    }
    assert.equal(text, TEXT);
  },
  async case_elevenlabs_voices_and_models() {
    assert((await elevenlabs.voices.getAll()).voices.some((voice) => voice.voiceId === "default"));
    assert.equal((await elevenlabs.voices.search({ pageSize: 1 })).voices.length, 1);
    assert.equal((await elevenlabs.models.list()).length, 1);
  },
};

const results = {};
for (const [name, run] of Object.entries(cases)) {
  try {
    await run();
    results[name.replace("case_", "")] = null;
  } catch (error) {
    results[name.replace("case_", "")] = String(error.stack ?? error);
  }
}
console.log(JSON.stringify(results));
