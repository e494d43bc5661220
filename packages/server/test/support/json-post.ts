/**
 * What `fetch` and `app.request` need to post JSON: without a content type they say that a text is
 * plain.
 */
export function jsonPost(body: unknown): RequestInit {
  return { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}
