// JavaScript SDKs. Run where they are installed; prints as `cases.py` does.
import assert from "node:assert/strict";

import { createOpenAI } from "@ai-sdk/openai";
import Cartesia from "@cartesia/cartesia-js";
import { DeepgramClient } from "@deepgram/sdk";
import { ElevenLabsClient } from "@elevenlabs/elevenlabs-js";
import { generateSpeech, generateText, streamText } from "ai";
import OpenAI from "openai";

const { URL: url, SECURE_URL: secureUrl, KEY: key } = process.env;
const TEXT = "The doors open at nine. Please bring your ticket.";
const openai = new OpenAI({ apiKey: key, baseURL: `${url}/v1` });
const elevenlabs = new ElevenLabsClient({ apiKey: key, baseUrl: url });
const sockets = url.replace("http", "ws");
const place = { base: url, production: sockets, agent: sockets, agentRest: url };
const deepgram = new DeepgramClient({ apiKey: key, environment: place });
const cartesia = new Cartesia({ apiKey: key, baseURL: secureUrl, maxRetries: 0 }); // its sockets are wss alone
const aiSdk = createOpenAI({ apiKey: key, baseURL: `${url}/v1` });
const RAW = { container: "raw", encoding: "pcm_s16le", sample_rate: 24000 };
const QUESTION = [{ role: "user", content: "What did you see?" }];
const ORDER = { model_id: "sonic-3", voice: { mode: "id", id: "default" }, output_format: RAW };

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
  async case_openai_chat() {
    const order = { model: "teller", messages: QUESTION, max_tokens: 12, seed: 3 };
    const answer = await openai.chat.completions.create(order);
    const whole = answer.choices[0].message.content;
    assert(whole.startsWith(" The old ship"), whole);
    let streamed = "";
    for await (const event of await openai.chat.completions.create({ ...order, stream: true })) {
      streamed += event.choices[0]?.delta.content ?? "";
    }
    assert.equal(streamed, whole);
  },
  async case_ai_sdk_text() {
    const order = { model: aiSdk.chat("teller"), messages: QUESTION, maxOutputTokens: 12, maxRetries: 0 };
    const { text, usage } = await generateText(order);
    assert(text.startsWith(" The old ship"), text);
    assert.equal(usage.outputTokens, 12);
    let streamed = "";
    for await (const piece of streamText(order).textStream) streamed += piece;
    assert(streamed.startsWith(" The old ship"), streamed);
  },
  async case_ai_sdk_speech() {
    const order = { model: aiSdk.speech("tts-1"), text: TEXT, maxRetries: 0 };
    const { audio } = await generateSpeech({ ...order, voice: "alloy", outputFormat: "wav", speed: 1.2 });
    assert(audio.uint8Array.length > 50_000, audio.uint8Array.length);
    assert.equal(audio.format, "wav");
    const usual = await generateSpeech(order);
    assert.equal(usual.audio.mediaType, "audio/mpeg");
    await assert.rejects(generateSpeech({ ...order, voice: "nobody" }), /nobody/);
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
  async case_cartesia_bytes_and_voices() {
    const answer = await cartesia.tts.generate({ ...ORDER, transcript: TEXT });
    assert((await answer.arrayBuffer()).byteLength > 2 * 24_000);
    for await (const voice of cartesia.voices.list({ limit: 1 })) assert(voice.id);
    await assert.rejects(cartesia.tts.generate({ ...ORDER, voice: "nobody", transcript: TEXT }), Cartesia.NotFoundError);
  },
  async case_cartesia_context() {
    const socket = await cartesia.tts.websocket();
    const context = socket.context({ ...ORDER, add_timestamps: true });
    for (const word of TEXT.split(" ")) await context.push({ transcript: `${word} ` });
    await context.no_more_inputs();
    let bytes = 0;
    const words = [];
    for await (const event of context.receive()) {
      if (event.type === "chunk") bytes += event.audio.length;
      if (event.type === "timestamps") words.push(...event.word_timestamps.words);
    }
    assert.deepEqual(words, TEXT.split(" "));
    assert(bytes > 2 * 24_000, bytes);
    socket.close();
  },
  async case_deepgram_clips() {
    for (const encoding of ["mp3", "linear16", "opus"]) {
      const answer = await deepgram.speak.v1.audio.generate({ text: TEXT, encoding });
      assert((await answer.arrayBuffer()).byteLength > 5000, encoding);
    }
    await assert.rejects(deepgram.speak.v1.audio.generate({ text: TEXT, model: "nobody" }), /nobody/);
  },
  async case_deepgram_socket() {
    const socket = await deepgram.speak.v1.connect({ encoding: "linear16", sample_rate: 24000 });
    let bytes = 0;
    const flushed = new Promise((resolve, reject) => {
      socket.on("error", reject);
      socket.on("message", (message) => {
        if (message.type === "Flushed") resolve();
        else if (message.type === "Warning") reject(new Error(JSON.stringify(message)));
        else bytes += message.size ?? message.byteLength ?? 0;
      });
    });
    socket.connect();
    await socket.waitForOpen();
    for (const word of TEXT.split(" ")) socket.sendText({ type: "Speak", text: `${word} ` });
    socket.sendFlush({ type: "Flush" });
    await flushed;
    assert(bytes > 2 * 24_000, bytes);
    socket.close();
  },
  async case_deepgram_turns() {
    const model = "flux-alexis-en";
    const socket = await deepgram.speak.v2.connect({ model, encoding: "linear16", sample_rate: 24000 });
    let bytes = 0;
    const ended = new Promise((resolve, reject) => {
      socket.on("error", reject);
      socket.on("message", (message) => {
        if (message.type === "SpeechMetadata") resolve(message);
        else bytes += message.size ?? message.byteLength ?? 0;
      });
    });
    socket.connect();
    await socket.waitForOpen();
    for (const word of TEXT.split(" ")) socket.sendSpeak({ type: "Speak", text: `${word} ` });
    socket.sendFlush({ type: "Flush" });
    assert.equal((await ended).audio_duration_ms, Math.floor(bytes / 48));
    assert(bytes > 2 * 24_000, bytes);
    socket.close();
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
process.exit(0); // whatever a client has left open
