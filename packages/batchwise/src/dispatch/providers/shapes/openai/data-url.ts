// Reads base64 data URLs, which message parts use for images and files. Pure.

import { text } from "../sdk/sdk-error.ts";

/** Parameters, such as a charset or a name, may follow the type. */
const DATA_URL = /^data:([^;,]+)(?:;[^;,]+)*;base64,(.+)$/s;

/** The media type and the base64 of a data URL; null for anything else. */
export function readDataUrl(url: unknown): { readonly type: string; readonly data: string } | null {
  const [, type, data] = DATA_URL.exec(text(url) ?? "") ?? [];
  return type === undefined || data === undefined ? null : { type, data };
}
