/**
 * Takes bodies only as JSON: what an HTML form, or a page of another origin without asking first,
 * can send is refused.
 */

import { notJson } from "../errors.ts";

/**
 * Throws 415 for another content type. A body without one is taken for JSON; if a page sends it,
 * its origin tells.
 */
export function checkIsJson(headers: Headers): void {
  const type = headers.get("content-type");
  if (type === null) return;
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) throw notJson(type);
}
