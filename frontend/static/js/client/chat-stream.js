/**
 * An answer of a text model while it is written, over POST /v1/chat/completions. It is read once:
 *
 *   const stream = fleet.streamChat("What is new in the harbour?", { max_tokens: 200 });
 *   for await (const piece of stream) show(piece);
 *   console.log(stream.answer.finishReason);
 *
 * Leaving the loop early gives the rest up. Events: "queued" {position, eta_seconds}, while it waits for its turn; with
 * the option `audio` the answer is spoken meanwhile, "audio" has the next bytes of it, and "queued" has `speech: true`
 * while what is written waits to be spoken.
 */
import { ApiError, isGivenUp } from "./http.js";

const PATH = "/v1/chat/completions";
/** A chat gives one answer, as text; one that is streamed may be heard as well, by `audio`. */
const NOT_OPTIONS = ["stream", "n", "modalities"];
const TOLD = { include_usage: true, include_queue: true };
const BROKEN = { message: "The answer broke off.", code: "connection_lost" };

/** A request for one answer. @param {string | object[]} messages a text, or a conversation of {role, content} @throws {ApiError} */
function bodyOf(messages, options) {
  const param = NOT_OPTIONS.find((name) => name in options);
  if (param) throw new ApiError(0, { message: `${param} is no option: a chat gives one answer, as text.`, param });
  return { messages: typeof messages === "string" ? [{ role: "user", content: messages }] : messages, ...options };
}

function answerOf(text, finishReason, { model, usage }, response) {
  const seed = Number(response.headers.get("x-seed"));
  return { text, finishReason, model, seed, promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens };
}

/** The whole answer, when it is complete. @param {Function} request of a client */
export async function wholeChat(request, messages, { signal, ...options }) {
  if ("audio" in options) throw new ApiError(0, { message: "audio is no option: an answer is heard as it is written, by streamChat.", param: "audio" });
  const response = await request(PATH, { method: "POST", json: bodyOf(messages, options), signal });
  const content = await response.json();
  const [{ message, finish_reason: reason }] = content.choices;
  return answerOf(message.content, reason, content, response);
}

export class ChatStream extends EventTarget {
  #request;
  #body;
  #signal;

  /** The whole of it, once it is complete: {text, finishReason, model, seed, promptTokens, completionTokens}. */
  answer = null;

  /** @param {Function} request of a client @param {string | object[]} messages @param {object} options */
  constructor(request, messages, { signal, audio, ...options }) {
    super();
    this.#request = request;
    const heard = audio ? { modalities: ["text", "audio"], audio: { format: "pcm16", ...audio } } : {};
    this.#body = { ...bodyOf(messages, options), ...heard, stream: true, stream_options: TOLD };
    this.#signal = signal;
  }

  /** @throws {ApiError} */
  async *[Symbol.asyncIterator]() {
    const response = await this.#request(PATH, { method: "POST", json: this.#body, signal: this.#signal });
    let [text, reason, about] = ["", "", null];
    for await (const data of eventsOf(response.body, this.#signal)) {
      if (data === "[DONE]") {
        this.answer = answerOf(text, reason, about, response);
        return;
      }
      about = JSON.parse(data);
      if (about.error) throw new ApiError(0, { ...about.error, retry_after_seconds: about.retry_after_seconds });
      if (about.queue) this.#emit("queued", about.queue);
      for (const { delta, finish_reason: told } of about.choices) {
        reason = told ?? reason;
        if (delta.audio?.data) this.#emit("audio", bytesOf(delta.audio.data));
        const piece = delta.content ?? delta.audio?.transcript;
        if (!piece) continue;
        text += piece;
        yield piece;
      }
    }
    throw new ApiError(0, BROKEN);
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

/** @param {string} text in base64 @returns {ArrayBuffer} */
function bytesOf(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
}

/** What server-sent events carry, one line of data each. @param {ReadableStream<Uint8Array>} body */
async function* eventsOf(body, signal) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let [rest, open] = ["", true];
  try {
    while (open) {
      const { value = "", done } = await reader.read();
      open = !done;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line.startsWith("data: ")) yield line.slice(6);
    }
  } catch (error) {
    open = false;
    throw isGivenUp(error, signal) ? error : new ApiError(0, BROKEN);
  } finally {
    if (open) await reader.cancel(); // the reader left
  }
}
