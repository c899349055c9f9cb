/**
 * Answers that never come: a connection can be silent for very long before a browser gives it up.
 */
import { ApiError } from "./api.js";

/** The answer, if it is there in time. @template T @param {number} milliseconds @param {Promise<T>} answer @throws {ApiError} */
export async function within(milliseconds, answer) {
  let timer;
  const silence = new Promise((_, reject) => {
    const error = new ApiError(0, { message: "The gateway does not answer.", code: "no_answer" });
    timer = setTimeout(() => reject(error), milliseconds);
  });
  try {
    return await Promise.race([answer, silence]);
  } finally {
    clearTimeout(timer);
  }
}
