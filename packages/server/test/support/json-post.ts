/**
 * Options for `fetch` and `app.request` to post JSON; without a content type these send a text as
 * plain.
 */
export function jsonPost(body: unknown): RequestInit {
  return { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}
