// Cases on the result of each line.

import { deepEqual, equal, ok } from "node:assert/strict";
import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import {
  Bench,
  bodyOf,
  eachOnce,
  echo,
  endpointOf,
  execute,
  isGood,
  lineOf,
  linesOf,
  mayPass,
  nameOf,
  names,
  type RunnerAnswer,
  type RunnerCase,
  refusal,
} from "./case.ts";

/** One special line among ordinary ones, and its answer. */
function oneOf(answer: (said: string) => RunnerAnswer): Bench {
  return new Bench((said) => (said === "text 3" ? answer(said) : echo(said)));
}

function said(body: JsonObject = {}): unknown {
  const { choices } = body as { readonly choices?: readonly { readonly message: JsonObject }[] };
  return choices?.[0]?.message.content;
}

const ODD: readonly (readonly [string, Json])[] = [
  ["a text", "yes"],
  ["a list", [{ ok: true }]],
  ["null", null],
  ["a number", 7],
];

/** A value with everything that JSON can hold and a careless copy would change. */
const RICH: JsonObject = {
  temperature: 0,
  stop: null,
  seed: -7.25e-8,
  strict: false,
  text: 'ä 😀 \u2028 " \\ \n </script> \u0000',
  empty: { list: [], text: "", object: {} },
  list: [[1, "2", null], { deep: [{ er: true }] }],
  "a key": 1,
  toJSON: "no function",
  unknown_field: 9_007_199_254_740_991,
};

export const runnerResultCases: readonly RunnerCase[] = [
  {
    name: "gives each line one result with its id and the counted tokens",
    async run(open) {
      const bench = new Bench();
      const { account } = await bench.open(open);
      const lines = await execute(account, linesOf(account, 100)).rest();
      eachOnce(lines, names(100));
      for (const { customId, response, error, usage } of lines) {
        deepEqual([error, response?.statusCode], [null, 200]);
        equal(said(response?.body), `echo: text ${Number(customId.slice(-7))}`);
        deepEqual([usage?.inputTokens, usage?.outputTokens], [3, 2]);
      }
      deepEqual(
        bench.asked.toSorted(),
        names(100)
          .map((_, ord) => `text ${ord}`)
          .toSorted(),
      );
    },
  },
  {
    name: "sends bodies on as they came, to the endpoint of the batch",
    async run(open) {
      const bench = new Bench();
      const { account } = await bench.open(open);
      const [customId = ""] = names(1);
      const body = bodyOf("rich", RICH);
      await execute(account, [lineOf(account, customId, body)]).rest();
      deepEqual(bench.calls, [{ endpoint: endpointOf(account), body }]);
      deepEqual(Object.keys(bench.calls[0]?.body ?? {}), Object.keys(body));
    },
  },
  {
    name: "fails only the refused line, without a retry and with the server's message",
    async run(open) {
      for (const status of [400, 404, 422]) {
        const bench = oneOf(() => refusal(status, "bad_request", "I cannot."));
        const { account } = await bench.open(open, { maxRetries: 3 });
        const lines = await execute(account, linesOf(account, 10)).rest();
        eachOnce(lines, names(10));
        const [bad, ...more] = lines.filter((line) => !isGood(line));
        deepEqual([more, bad?.customId, bad?.response?.statusCode], [[], names(10)[3], status]);
        deepEqual(bad?.error, { code: "bad_request", message: "I cannot." });
        deepEqual([bad?.usage, bench.asked.length], [null, 10]);
      }
    },
  },
  {
    name: "marks a line as retryable when the server was busy, broken or gave no answer",
    async run(open) {
      const passing: readonly RunnerAnswer[] = [
        refusal(429, "rate_limit", "Slow."),
        refusal(500, "server_error", "Broken."),
        refusal(503, "overloaded", "Busy."),
        "lost",
      ];
      for (const answer of passing) {
        const { account } = await oneOf(() => answer).open(open);
        const lines = await execute(account, linesOf(account, 10)).rest();
        eachOnce(lines, names(10));
        const [bad, ...more] = lines.filter((line) => !isGood(line));
        ok(bad !== undefined && more.length === 0, `expected one line that failed, got ${more.length + 1}`);
        ok(mayPass(bad), `expected a failure that may pass, got ${JSON.stringify(bad)}`);
        if (answer !== "lost") equal(bad.response?.statusCode, answer.status);
      }
    },
  },
  {
    name: "ends a line without an answer in its time, and runs the others",
    async run(open) {
      const bench = new Bench((said) => (said === "text 0" ? new Promise(() => {}) : echo(said)));
      const { account } = await bench.open(open, { concurrency: 1, lineTimeoutMs: 200 });
      const lines = await execute(account, linesOf(account, 5)).rest();
      eachOnce(lines, names(5));
      const late = lines.filter((line) => !isGood(line));
      deepEqual(
        late.map(({ customId, response, usage }) => [customId, response, usage]),
        [[names(1)[0], null, null]],
      );
      ok(late.every(mayPass), "expected a failure that may pass");
    },
  },
  ...ODD.map(
    ([what, body]): RunnerCase => ({
      name: `never takes an answer of 200 for a success where it is ${what}`,
      async run(open) {
        const { account } = await new Bench(() => ({ status: 200, body })).open(open, { concurrency: 1 });
        const pass = execute(account, linesOf(account, 1));
        try {
          const lines = await pass.rest();
          eachOnce(lines, names(1));
          ok(!lines.some(isGood), `expected no success, got ${JSON.stringify(lines)}`);
        } catch (error) {
          // The account may take it for the wrong server and fail the whole pass.
          if (error instanceof Error && error.name === "AssertionError") throw error;
          ok(account.classify(error, "execute").message.length > 0, "expected words");
        }
      },
    }),
  ),
  {
    name: "keeps nothing: an equal create gives the same batch, and lines given again run again",
    async run(open) {
      const bench = new Bench();
      const { account } = await bench.open(open);
      const call = { signal: new AbortController().signal, timeoutMs: 10_000 };
      const lines = linesOf(account, 3);
      const input = { fileName: "a.jsonl", requests: 3, bytes: 3, lines: async function* () {} };
      const create = (attempt: number) =>
        account.create({ ...nameOf(account, attempt), input, firstBody: async () => "{}" }, call);
      const [first, again, next] = [await create(1), await create(1), await create(2)];
      deepEqual(
        [first.id === again.id, first.id === next.id, account.capabilities.tag],
        [true, false, "idempotencyToken"],
      );
      equal((await account.retrieve(first.id, call))?.id, first.id);
      equal((await account.cancel(first.id, call)).id, first.id);
      equal(bench.asked.length, 0);
      for (const times of [1, 2]) {
        eachOnce(await execute(account, lines).rest(), names(3));
        equal(bench.asked.length, times * 3);
      }
    },
  },
];
