// Texts for a terminal. Those of providers may contain codes that clear a screen, set a title or
// write to a clipboard, or line breaks that look like another message. Pure.

/** C0, DEL and C1. */
const CONTROLS = /\p{Cc}/gu;

/** The text with each control character as `\u001b`. */
export function visible(text: string): string {
  return text.replace(CONTROLS, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
