/** Requests to the gateways of a client: with its key, and with what they refuse as an ApiError. */
import { addressesOf, checkedKey, keyProtocol } from "./connection.js";
import { fileNameOf } from "./forms.js";
import { request, requestOnce } from "./http.js";

const SUBPROTOCOL = "voxfleet";

export class Transport {
  #urls;
  #apiKey;
  #begun;

  /** @param {object} options of a VoxFleet @throws {TypeError} for what is no address */
  constructor({ url, apiKey, begun }) {
    this.#urls = addressesOf(url);
    this.#begun = begun;
    const tell = typeof apiKey === "function" ? apiKey : () => apiKey;
    this.#apiKey = () => checkedKey(tell());
  }

  /**
   * A request to the first gateway with the key. @throws {ApiError}
   * @param {RequestInit & {json?: object, once?: boolean}} options `once`: of one that makes something
   */
  async request(path, { json, once = false, headers = {}, ...options } = {}) {
    const key = this.#apiKey();
    const sent = { ...headers, ...(key ? { authorization: `Bearer ${key}` } : {}) };
    const begun = json === undefined && (options.method ?? "GET") === "GET" ? this.#begun(path) : undefined;
    const asked = { ...options, headers: sent };
    if (json !== undefined) {
      asked.body = JSON.stringify(json);
      sent["content-type"] = "application/json";
    }
    const address = this.#urls[0] + path;
    return once ? requestOnce(address, asked) : request(address, asked, begun);
  }

  async json(path, options) {
    return (await this.request(path, options)).json();
  }

  async blob(path, options) {
    return (await this.request(path, options)).blob();
  }

  /** A file with the name that the service gives it. */
  async file(path, options) {
    const response = await this.request(path, options);
    return new File([await response.blob()], fileNameOf(response.headers.get("content-disposition")));
  }

  /** Addresses of a WebSocket, one at each gateway. @returns {string[]} */
  sockets(path) {
    return this.#urls.map((url) => url.replace(/^http/, "ws") + path);
  }

  /** What opens one, with the key of now. @returns {{createSocket: (address: string) => WebSocket}} */
  opener() {
    const key = this.#apiKey();
    const protocols = key ? [SUBPROTOCOL, keyProtocol(key)] : [];
    return { createSocket: (address) => new WebSocket(address, protocols) };
  }
}
