/**
 * Server-sent events read from a fetch response: EventSource can not send an Authorization header.
 *
 *   for await (const { event, data } of serverEvents(response.body)) ...
 *
 * Follows the event-stream format of the HTML standard: fields up to a blank line, comments, CRLF,
 * several data lines; an event cut off by the end of the stream is dropped.
 */

/** @param {ReadableStream<Uint8Array>} body @returns {AsyncGenerator<{event: string, data: string}>} */
export async function* serverEvents(body) {
  let pending = "";
  let fields = new EventFields();
  const decoder = new TextDecoder();
  for await (const bytes of chunksOf(body)) {
    pending += decoder.decode(bytes, { stream: true });
    const lines = pending.split(/\r\n|\n|\r(?!$)/);
    pending = lines.pop();
    for (const line of lines) {
      if (line !== "") fields.add(line);
      else if (fields.data.length > 0) yield fields.take();
      if (line === "") fields = new EventFields();
    }
  }
}

class EventFields {
  event = "message";
  data = [];

  add(line) {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.event = value;
    else if (name === "data") this.data.push(value);
  }

  take() {
    return { event: this.event, data: this.data.join("\n") };
  }
}

/** Streams are not async iterable in every browser. */
async function* chunksOf(body) {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => null); // already broken, which is why we leave
  }
}
