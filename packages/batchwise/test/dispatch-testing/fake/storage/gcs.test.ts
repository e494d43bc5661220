// Calls that the fake Cloud Storage refuses and the official client would not make.

import { type FakeStorage, fakeGcs } from "batchwise/dispatch/testing";
import { expect, onTestFinished, test } from "vitest";

async function open(options: Parameters<typeof fakeGcs>[0] = {}): Promise<{ fake: FakeStorage; url: string }> {
  const fake = fakeGcs(options);
  const server = await fake.listen();
  onTestFinished(() => server.close());
  return { fake, url: server.url };
}

async function session(url: string): Promise<string> {
  const begun = await fetch(`${url}/upload/storage/v1/b/bucket/o?uploadType=resumable&name=a`, { method: "POST" });
  return begun.headers.get("location") ?? "";
}

function send(session: string, range: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(session, { method: "PUT", body, headers: { "content-range": range, ...headers } });
}

test("an upload is an object with its last chunk, and reports how far it came", async () => {
  const { fake, url } = await open({ minPartBytes: 4 });
  const at = await session(url);
  const first = await send(at, "bytes 0-3/*", "0123");
  expect([first.status, first.headers.get("range")]).toEqual([308, "bytes=0-3"]);
  expect((await send(at, "bytes */*", "")).status).toBe(308);
  expect(fake.names("bucket")).toEqual([]);
  const again = await send(at, "bytes 0-5/6", "012345");
  expect([again.status, await again.json()]).toEqual([200, expect.objectContaining({ size: "6", name: "a" })]);
  expect(Buffer.from(fake.read("bucket", "a") ?? []).toString()).toBe("012345");
  expect((await send(at, "bytes */*", "")).status).toBe(404);
});

test("a chunk that makes a gap, has an odd size, a wrong range or a wrong checksum is refused", async () => {
  const { fake, url } = await open({ minPartBytes: 4 });
  const at = await session(url);
  expect((await send(at, "bytes 4-7/*", "4567")).status).toBe(503);
  expect((await send(at, "bytes 0-2/*", "012")).status).toBe(400);
  expect((await send(at, "lines 0-2/3", "012")).status).toBe(400);
  expect((await send(at, "bytes 0-3/4", "0123", { "x-goog-hash": "crc32c=AAAAAA==" })).status).toBe(400);
  expect((await send(await session(url), "bytes 0-3/2", "0123")).status).toBe(400);
  expect(fake.names("bucket")).toEqual([]);
});

const TWO_PARTS = "--b\r\na: b\r\n\r\n{}\r\n--b\r\na: b\r\n\r\nx\r\n--b--";

test("an upload in one call has two parts, and a name", async () => {
  const { fake, url } = await open();
  const put = (query: string, body: string) =>
    fetch(`${url}/upload/storage/v1/b/bucket/o?uploadType=multipart${query}`, {
      method: "POST",
      headers: { "content-type": "multipart/related; boundary='b'" },
      body,
    });
  expect((await put("&name=a", "--b\r\na: b\r\n\r\n{}\r\n--b--")).status).toBe(400);
  expect((await put("&name=a", "no parts")).status).toBe(400);
  expect((await put("", TWO_PARTS)).status).toBe(400);
  expect((await put("&name=a", TWO_PARTS)).status).toBe(200);
  expect(fake.names("bucket")).toEqual(["a"]);
});

test("a missing object is a 404 with Google's error, and a route that the fake lacks is named", async () => {
  const { url } = await open();
  const missing = await fetch(`${url}/storage/v1/b/bucket/o/a%2Fb`);
  expect([missing.status, await missing.json()]).toMatchObject([
    404,
    { error: { code: 404, message: "No such object: bucket/a/b", errors: [{ reason: "notFound" }] } },
  ]);
  expect((await fetch(`${url}/storage/v1/b/none/o`)).status).toBe(404);
  const unknown = await fetch(`${url}/storage/v1/b/bucket`);
  expect([unknown.status, await unknown.text()]).toEqual([501, expect.stringContaining("GET /storage/v1/b/bucket")]);
});
