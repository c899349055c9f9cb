/**
 * HTTP with the one error shape of the gateway: {"error": {message, type, param, code}}.
 */
/** What proxies answer in the place of a gateway that they do not reach. */
const GATEWAY_IS_AWAY = [502, 503, 504];
/** Before each further try of what makes something. */
const PAUSES_MS = [500, 2000];

export class ApiError extends Error {
  /** @param {number} status HTTP status, 0 when no answer came */
  constructor(status, { message, code = null, param = null, retry_after_seconds: retryAfterSeconds = null }) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.param = param;
    /** When to come back, where the service says so. */
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/**
 * The response, when it is a success. @throws {ApiError}
 *
 * @param {Promise<Response>} [begun] the same request, where it is under way already
 */
export async function request(path, options = {}, begun = undefined) {
  let response;
  try {
    options.signal?.throwIfAborted(); // Node 24 ends the process where a form is sent with such a signal
    response = await (begun ?? fetch(path, options));
  } catch (error) {
    if (isGivenUp(error, options.signal)) throw error;
    if (!(await readable(filesOf(options.body)))) throw unreadable();
    throw new ApiError(0, { message: "The gateway does not answer.", code: "no_answer" });
  }
  if (!response.ok) throw await errorOf(response);
  return readSafely(response, options.signal);
}

/** Whether the caller gave the request up. A limit of time is none of that: the gateway does not answer within it. */
export function isGivenUp(error, signal) {
  if (error?.name === "AbortError") return true;
  return signal?.aborted === true && signal.reason === error && error?.name !== "TimeoutError";
}

/**
 * As request(), of one that makes something: sent again where no answer came, under a key by which the gateway knows
 * it, so that it makes one.
 */
export async function requestOnce(path, options) {
  const sent = { ...options, headers: { ...options.headers, "idempotency-key": newKey() } };
  for (const pause of PAUSES_MS) {
    try {
      return await request(path, sent);
    } catch (error) {
      if (error.code !== "no_answer") throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  return request(path, sent);
}

function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The JSON of a successful response. @throws {ApiError} */
export async function requestJson(path, options = {}) {
  return (await request(path, options)).json();
}

/** The response, whose body tells what cannot be read of it as an ApiError: it was cut, or is somebody else's page. */
function readSafely(response, signal) {
  for (const name of ["json", "blob"]) {
    const read = response[name].bind(response);
    response[name] = () => (isPage(response) ? Promise.reject(foreign(response)) : read().catch((error) => Promise.reject(isGivenUp(error, signal) ? error : unread(error, response))));
  }
  return response;
}

/** No gateway answers a client so. */
function isPage(response) {
  return response.headers.get("content-type")?.startsWith("text/html") ?? false;
}

function foreign({ status }) {
  return new ApiError(status, { message: "The answer is not one of a gateway.", code: "foreign_answer" });
}

function unread(error, response) {
  if (error instanceof SyntaxError) return foreign(response);
  return new ApiError(0, { message: "The connection was lost before the whole answer came.", code: "connection_lost" });
}

/** What a browser reads from the disk only when it is sent. */
function filesOf(body) {
  const values = body instanceof FormData ? [...body.values()] : [body];
  return values.filter((value) => value instanceof Blob);
}

/** Whether all of these can be read. One that was moved, changed or is a folder can not. @param {Blob[]} files */
export async function readable(files) {
  const first = files.map((file) => file.slice(0, 1).arrayBuffer());
  return (await Promise.allSettled(first)).every(({ status }) => status === "fulfilled");
}

/** The error for a file that cannot be read. */
export function unreadable() {
  return new ApiError(0, { message: "The file cannot be read.", code: "file_unreadable" });
}

async function errorOf(response) {
  const code = GATEWAY_IS_AWAY.includes(response.status) ? "no_answer" : "http_error";
  const fallback = { message: `The gateway answered ${response.status}.`, code };
  const body = await response.json().catch(() => null); // an error page of a proxy is not JSON
  const retryAfter = Number(response.headers.get("retry-after") ?? NaN); // a date is none
  const told = body?.error?.message ? body.error : fallback;
  return new ApiError(response.status, { ...told, retry_after_seconds: Number.isFinite(retryAfter) ? retryAfter : null });
}
