// Recognises a 200 that is not the service's answer, such as the page of a proxy or of another
// host: clients hand its text on. Pure.

import { NOT_JSON } from "../../../format/client-error.ts";
import { headerOf } from "../../../format/headers.ts";
import { objectOf } from "./sdk-error.ts";

/**
 * The error for an answer that is a text; null for any other. `expected`: the call and what its
 * answer has. `page`: the client's object around it, which may have the response.
 */
export function notJson(expected: string, came: unknown, page: unknown = null): Error | null {
  if (typeof came !== "string") return null;
  const type = contentType(page) ?? (/^\s*</.test(came) ? "text/html" : "text");
  const what = came === "" ? "nothing" : type;
  const ways = "is the client's `baseURL` right, and does a proxy answer in its place?";
  return Object.assign(new Error(`Expected the provider to answer ${expected}, got ${what}: ${ways}`), {
    code: NOT_JSON,
  });
}

function contentType(page: unknown): string | null {
  const { headers } = objectOf(objectOf(page).response);
  return headerOf(headers, "content-type")?.split(";")[0] ?? null;
}
