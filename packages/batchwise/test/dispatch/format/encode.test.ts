// Names, lines and counts that must be equal on every machine.

import { expect, test } from "vitest";
import { laneProper } from "../../../src/dispatch/contract/store/lanes.ts";
import * as encode from "../../../src/dispatch/format/encode.ts";

const KEY = encode.ulid(1_700_000_000_000, () => 0.5);

test("a ULID has 26 characters, sorts by time and carries the chance at its end", () => {
  expect(KEY).toBe("01HF7YAT00G00000G00000G000");
  expect(encode.ulid(1_700_000_000_001, () => 0) > KEY).toBe(true);
  expect(encode.ulid(0, () => 1 - 2 ** -32)).toBe("0000000000ZZZZZZZZZZZZZZZZ");
});

test("every place of a ULID's chance takes every digit about as often", () => {
  const keys = Array.from({ length: 3_200 }, () => encode.ulid(0, Math.random).slice(10));
  for (let place = 0; place < 16; place += 1) {
    const counts = new Map<string, number>();
    for (const key of keys) counts.set(key.charAt(place), (counts.get(key.charAt(place)) ?? 0) + 1);
    expect(counts.size).toBe(32);
    expect(Math.max(...counts.values())).toBeLessThan(200);
  }
});

test("a custom id is read back to its batch and place, and nothing else is", () => {
  const id = encode.customId(KEY, 4711);
  expect(id).toBe("00G00000G000_0004711");
  expect(id).toHaveLength(encode.CUSTOM_ID_LENGTH);
  expect(encode.parseCustomId(id)).toEqual({ prefix: encode.keyPrefix(KEY), ord: 4711 });
  for (const foreign of ["", "request-1", `${id}0`, id.toLowerCase(), `x${id}`]) {
    expect(encode.parseCustomId(foreign)).toBeNull();
  }
});

test("a line measured with the sample id is as long as the line that is sent", () => {
  const request = { endpoint: "/v1/embeddings", body: JSON.stringify({ model: "m", input: "grüße 🎈 \n" }) } as const;
  const measured = encode.openaiLine({ ...request, customId: encode.SAMPLE_CUSTOM_ID });
  const sent = encode.openaiLine({ ...request, customId: encode.customId(KEY, 12) });
  expect(encode.utf8Length(measured)).toBe(new TextEncoder().encode(sent).length);
  expect(JSON.parse(sent)).toMatchObject({ method: "POST", url: "/v1/embeddings", body: { input: "grüße 🎈 \n" } });
  expect(sent.indexOf("\n")).toBe(sent.length - 1);
});

test("the length of an OpenAI line is computed without making it", () => {
  const request = { customId: encode.customId(KEY, 7), endpoint: "/v1/embeddings" } as const;
  for (const input of ["", "plain", "grüße 🎈 \n", "日本語"]) {
    const line = { ...request, body: JSON.stringify({ input }) };
    expect(encode.openaiLineBytes(line, Buffer.byteLength(line.body))).toBe(Buffer.byteLength(encode.openaiLine(line)));
  }
});

test("digests differ by endpoint and by body", () => {
  const digests = [
    encode.digestOf("/v1/embeddings", "{}"),
    encode.digestOf("/v1/chat/completions", "{}"),
    encode.digestOf("/v1/embeddings", "{ }"),
  ];
  expect(new Set(digests).size).toBe(3);
  expect(encode.digestOf("/v1/embeddings", "{}")).toBe(digests[0]);
});

test("a digest is the SHA-1 of the body beside the endpoint, as stores hold it", () => {
  expect(encode.digestOf("/v1/embeddings", '{"input":"grüße 🎈"}')).toBe("jMZR9cFrpyRiRLDkQhi13wX09zI /v1/embeddings");
});

test("the body wins over the defaults", () => {
  expect(encode.mergeDefaults({ model: "a", temperature: 0 }, { model: "b" })).toEqual({ model: "b", temperature: 0 });
});

test("a lane's name is read back, whatever the model is called", () => {
  for (const [group, inputs, shared, urgent] of [
    ["", 1, "", false],
    ["", 1, "", true],
    [`${KEY}.a`, 1, "", false],
    ["", 16, "", false],
    [`${KEY}.a`, 2_048, "", true],
    ["", 1, encode.sharedMark([["voyage", "float"]]), true],
    [`${KEY}.a`, 4, encode.sharedMark([["voyage", "int8"]]), false],
  ] as const) {
    const payers = group === "" ? [] : [encode.payerName("job", "night"), encode.payerName("tenant", "a#.b c")];
    for (const checked of ["", encode.checkMark("night")]) {
      const place = { endpoint: "/v1/embeddings", group, model: "my model # / v2", inputs, shared, urgent } as const;
      const lane = { ...place, checked, payers, cached: checked === "" ? "" : "a-first" };
      expect(encode.parseLane(encode.laneName(lane))).toEqual(lane);
      expect(encode.parseLane(laneProper(encode.laneName(lane)))).toEqual({ ...lane, group: "" });
    }
  }
  // A lane that was stored before inputs were counted.
  expect(encode.laneName(encode.parseLane("/v1/embeddings  m"))).toBe("/v1/embeddings  m");
});
