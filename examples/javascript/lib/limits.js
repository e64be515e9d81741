// The bounds of section 4, and the error that says which rule a message broke.

export const MAX_HEADER_BYTES = 262144;
export const MAX_HEADER_DEPTH = 16;
export const MAX_FRAMES = 4096;
export const MAX_FRAME_BYTES = 2147483648;
export const MAX_ANSWER_BYTES = 67108864;
export const MAX_DIMENSIONS = 8;
export const MAX_TEXT = 4096;
export const MAX_WORD = 256;
export const MAX_INTEGER = 2n ** 63n - 1n;

/** A message that can't be used: `code` is one of section 7, the text one sentence. */
export class Refusal extends Error {
  constructor(code, sentence) {
    super(sentence);
    this.code = code;
    this.re = undefined; // `id` of the message, once that is known
  }
}

/** The first characters of a text: `limit` code points at most, as MAX_TEXT counts. */
export function shorten(text, limit) {
  if (text.length <= limit) return text;
  return Array.from(text).slice(0, limit).join("");
}
