// Result files with lines that are no results: all others are read, through each official client.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JsonObject } from "../../../src/dispatch/contract/types.ts";
import { providerBatch } from "../support/rows.ts";
import { anthropicCase, geminiFileCase, mistralCase, openaiCase } from "./account-cases.ts";
import type { Adapter } from "./account-suite.ts";

const NAME = { key: "k", attempt: 1, endpoint: "/v1/chat/completions", model: "m" } as const;
const ANSWERED = { status_code: 200, body: { choices: [] } };

let file = "";
let url = "";
/** Answers a call for results with the file, and any other call with its batch. */
const server = createServer((request, response) => {
  const isFile = /content|download|results/.test(request.url ?? "");
  const batch = { id: "b", processing_status: "ended", results_url: `${url}/results` };
  response.writeHead(200, { "content-type": isFile ? "application/octet-stream" : "application/json" });
  response.end(isFile ? file : JSON.stringify(batch));
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

const CASES: readonly [Adapter, (customId: string) => JsonObject][] = [
  [openaiCase, (name) => ({ custom_id: name, response: ANSWERED })],
  [mistralCase, (name) => ({ custom_id: name, response: ANSWERED })],
  [anthropicCase, (name) => ({ custom_id: name, result: { type: "succeeded", message: { content: [] } } })],
  [geminiFileCase, (name) => ({ key: name, response: { candidates: [{}] } })],
];

const BAD = ['{"cut": tru', "{}", "<html>", "[]", "null", "\ud800\0"];

test.each(CASES)("$name gives the lines behind bad ones, and then says that there are some", async (adapter, line) => {
  const good = ["a", "b", "c"].map((name) => JSON.stringify(line(name)));
  file = [good[0], ...BAD, good[1], "", ...BAD, good[2]].join("\n");
  const account = adapter.account({ url });
  const batch = providerBatch("b", { state: "done", resultRefs: ["files/f1"] });
  const call = { signal: new AbortController().signal, timeoutMs: 10_000 };
  const seen: string[] = [];
  const reading = async (): Promise<void> => {
    for await (const { customId } of account.results(batch, call, NAME)) seen.push(customId);
  };
  await expect(reading()).rejects.toMatchObject({ code: "RESULTS_UNREADABLE" });
  expect(seen).toEqual(["a", "b", "c"]);
});
