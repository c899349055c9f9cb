/**
 * How a client connects: addresses, and the API key with every request.
 */
import { ApiError } from "./http.js";

/** Without a slash at their ends. @param {string | string[]} url @returns {string[]} @throws {TypeError} */
export function addressesOf(url) {
  const given = [url].flat();
  const wrong = given.find((each) => each !== "" && !isAddress(each));
  if (wrong !== undefined || given.length === 0) {
    throw new TypeError(`not the address of a gateway, such as http://127.0.0.1:8006: ${wrong}`);
  }
  return given.map((each) => each.replace(/\/+$/, ""));
}

function isAddress(url) {
  try {
    return ["http:", "https:"].includes(new URL(url, globalThis.location?.href).protocol);
  } catch {
    return false;
  }
}

/** @throws {ApiError} for one that no header can carry, and which no service has therefore */
export function checkedKey(key) {
  if (!key || /^[\x20-\x7e]+$/.test(key)) return key;
  const message = "The API key has characters that no header can carry, such as the end of a line.";
  throw new ApiError(0, { message, code: "invalid_api_key" });
}

/** A key as a subprotocol, which must be a token of HTTP: one with a space, a slash or "=" is none, and is encoded. */
export function keyProtocol(key) {
  if (/^[\w!#$%&'*+.^`|~-]+$/.test(key)) return `voxfleet.key.${key}`;
  return `voxfleet.key64.${btoa(key).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}
