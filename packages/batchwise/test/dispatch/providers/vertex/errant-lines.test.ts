// Result lines of Vertex AI that cannot be read or converted, in each family: each costs its own
// request, however the line is identified. Through whole accounts over the official clients.

import { expect, test } from "vitest";
import type {
  Account,
  BatchName,
  CallOptions,
  ProviderBatch,
  ResultLine,
} from "../../../../src/dispatch/contract/account.ts";
import type { Endpoint, JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { customId } from "../../../../src/dispatch/format/encode.ts";
import { inputOf } from "../account-suite.ts";
import { openVertex } from "./vertex-case.ts";

const HOUR = 3_600_000;
const KEY = "01JD3K9V7QX2ABCDEFGHJKMNPQ";
const call = (): CallOptions => ({ signal: new AbortController().signal, timeoutMs: 10_000 });
const id = (ord: number): string => customId(KEY, ord);

type Change = (line: JsonObject) => string;

/** Three requests have run; the second line of the results is another. */
async function readAfter(endpoint: Endpoint, model: string, change: Change) {
  const { account, gcs, clock } = await openVertex();
  const name: BatchName = { key: KEY, attempt: 1, endpoint, model };
  const lines = ["one", "two", "three"].map((content, ord) => {
    const input = endpoint === "/v1/embeddings" ? { input: content } : { messages: [{ role: "user", content }] };
    return account.encodeLine({ customId: id(ord), endpoint, body: JSON.stringify({ model, ...input }) });
  });
  const { fileId } = (await account.upload?.(inputOf(lines), call())) ?? { fileId: "" };
  const made = await account.create({ ...name, input: { fileId }, firstBody: async () => "{}" }, call());
  await clock.advance(HOUR);
  const done = await account.retrieve(made.id, call());
  const [object = ""] = gcs.names("bucket").filter((each) => each.endsWith("predictions.jsonl"));
  const results = new TextDecoder()
    .decode(gcs.read("bucket", object) ?? new Uint8Array())
    .trim()
    .split("\n");
  const at = results.findIndex((line) => /\btwo\b/.test(line) || line.includes(id(1)));
  results[at] = change(JSON.parse(results[at] ?? ""));
  gcs.write("bucket", object, Buffer.from(`${results.join("\n")}\n`));
  return read(account, done as ProviderBatch, name);
}

async function read(account: Account, batch: ProviderBatch, name: BatchName) {
  const seen: ResultLine[] = [];
  try {
    for await (const line of account.results(batch, call(), name)) seen.push(line);
    return { seen: byId(seen), code: null };
  } catch (error) {
    return { seen: byId(seen), code: (error as { code?: unknown }).code };
  }
}

function byId(lines: readonly ResultLine[]): (readonly [string, string | number | undefined])[] {
  return lines
    .map(({ customId: each, response, error }) => [each, error?.code ?? response?.statusCode] as const)
    .sort(([one], [other]) => one.localeCompare(other));
}

/** Nested more deeply than JSON can be written. */
function deep(): string {
  return `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`;
}

const CHAT = "/v1/chat/completions";
const DEEP_CALL = `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":DEEP}}]}}]}`;
const DEEP_USE = `{"type":"message","content":[{"type":"tool_use","id":"t","name":"f","input":DEEP}]}`;

/** The line with a response that cannot be converted. */
function withResponse(line: JsonObject, response: string): string {
  return JSON.stringify({ ...line, response: "RESPONSE" }).replace('"RESPONSE"', response.replace("DEEP", deep()));
}

test.each([
  ["Gemini, known by a label", "gemini-2.5-flash", DEEP_CALL],
  ["Claude, known by an id", "claude-haiku-4-5", DEEP_USE],
] as const)(
  "a line of %s that cannot be converted fails its request, and nothing else",
  async (_what, model, response) => {
    const { seen, code } = await readAfter(CHAT, model, (line) => withResponse(line, response));
    expect(code).toBeNull();
    expect(seen).toEqual([
      [id(0), 200],
      [id(1), "result_unreadable"],
      [id(2), 200],
    ]);
  },
);

test.each([
  ["without a vector", (line: JsonObject) => JSON.stringify({ ...line, predictions: 7 }), "no_embedding"],
  [
    "with an odd vector",
    (line: JsonObject) => JSON.stringify({ ...line, predictions: [{ embeddings: [] }] }),
    "no_embedding",
  ],
  [
    "with a fault",
    ({ instance }: JsonObject) => JSON.stringify({ instance, status: "Bad Request: no" }),
    "INVALID_ARGUMENT",
  ],
  ["with a fault in odd words", ({ instance }: JsonObject) => JSON.stringify({ instance, status: "{{[" }), "UNKNOWN"],
] as const)(
  "a line of a text embedding %s, known by its text, fails its request, and nothing else",
  async (_what, change, told) => {
    const { seen, code } = await readAfter("/v1/embeddings", "text-embedding-005", change);
    expect(code).toBeNull();
    expect(seen).toEqual([
      [id(0), 200],
      [id(1), told],
      [id(2), 200],
    ]);
  },
);

test.each([
  ["that is cut off", (line: JsonObject) => JSON.stringify(line).slice(0, -9)],
  ["without its text", ({ predictions }: JsonObject) => JSON.stringify({ predictions: predictions ?? null })],
  ["with no text in its place", (line: JsonObject) => JSON.stringify({ ...line, instance: [{ content: ["two"] }] })],
  ["that is no object", () => "[[[]]]"],
])("a line of a text embedding %s keeps its request open: all others have their vectors", async (_what, change) => {
  const { seen, code } = await readAfter("/v1/embeddings", "text-embedding-005", change);
  expect(code).toBe("RESULTS_UNREADABLE");
  expect(seen).toEqual([
    [id(0), 200],
    [id(2), 200],
  ]);
});
