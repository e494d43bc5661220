/**
 * Accepts bodies only as JSON: refuses everything that an HTML form, or a page of another origin
 * without a preflight request, can send.
 */

import { notJson } from "../errors.ts";

/**
 * Throws 415 for another content type. A body without one counts as JSON; if a page sends it, the
 * check of its origin applies.
 */
export function checkIsJson(headers: Headers): void {
  const type = headers.get("content-type");
  if (type === null) return;
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) throw notJson(type);
}
