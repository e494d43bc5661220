// The suite for accounts that run lines detects faults: each account here has one fault and fails
// its case.

import { type RunnerFactory, type RunnerRig, runnerConformance } from "batchwise/dispatch/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Account, ResultLine } from "../../../../src/dispatch/contract/account.ts";
import { openHandler, openServer } from "./runner-cases.ts";

type Execute = NonNullable<Account["execute"]>;

/** The account with some methods replaced. */
function changed(account: Account, changes: (own: Execute) => Partial<Account>): Account {
  const own: Execute = (...call) => (account.execute as Execute)(...call);
  const methods = changes(own) as Readonly<Record<PropertyKey, unknown>>;
  return new Proxy(account, {
    get(target, name) {
      if (Object.hasOwn(methods, name)) return methods[name];
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** An account with changed results. */
function ofResults(change: (line: ResultLine, index: number) => readonly ResultLine[]): RunnerFactory {
  return withMethods((own) => ({
    async *execute(...call) {
      let index = 0;
      for await (const line of own(...call)) {
        yield* change(line, index);
        index += 1;
      }
    },
  }));
}

function withMethods(changes: (own: Execute) => Partial<Account>): RunnerFactory {
  return async (options) => ({ account: changed((await openHandler(options)).account, changes) });
}

const isBad = ({ error }: ResultLine): boolean => error !== null;

async function* of(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

/** An account that runs each line only once, over all of its passes. */
const remembering: RunnerFactory = async (options) => {
  const ran = new Set<string>();
  const changes = (own: Execute): Partial<Account> => ({
    async *execute(lines, call, name) {
      const open: string[] = [];
      for await (const line of lines) if (!ran.has(line)) open.push(line);
      for (const line of open) ran.add(line);
      yield* own(of(open), call, name);
    },
  });
  return { account: changed((await openHandler(options)).account, changes) };
};

let creates = 0;

const faults: readonly (readonly [fault: string, open: RunnerFactory, fails: string])[] = [
  ["gives a result twice", ofResults((line, index) => (index === 3 ? [line, line] : [line])), "gives each line one"],
  ["loses a result", ofResults((line, index) => (index === 3 ? [] : [line])), "gives each line one result"],
  ["counts no tokens", ofResults((line) => [{ ...line, usage: null }]), "gives each line one result"],
  [
    "adds a field to bodies",
    ({ answer, ...options }) =>
      openHandler({ ...options, answer: ({ endpoint, body }) => answer({ endpoint, body: { ...body, n: 1 } }) }),
    "sends bodies on as they came",
  ],
  [
    "takes a refusal for a success",
    ofResults((line) => [isBad(line) ? { ...line, response: { statusCode: 200, body: {} }, error: null } : line]),
    "fails only the refused line",
  ],
  [
    "asks again after a refusal",
    ({ answer, ...options }) =>
      openHandler({
        ...options,
        answer: async (asked) => {
          const said = await answer(asked);
          return said !== "lost" && said.status === 400 ? answer(asked) : said;
        },
      }),
    "fails only the refused line",
  ],
  [
    "breaks off where one line is refused",
    ofResults((line) => {
      if (line.response?.statusCode === 400) throw new Error("One line is bad.");
      return [line];
    }),
    "fails only the refused line",
  ],
  [
    "calls a busy server's answer final",
    ofResults((line) => [isBad(line) ? { ...line, response: { statusCode: 400, body: {} } } : line]),
    "marks a line as retryable",
  ],
  [
    "waits for an answer without an end",
    (options) => openHandler({ ...options, lineTimeoutMs: 2 ** 31 - 1 }),
    "ends a line without an answer in its time",
  ],
  ...["a text", "a list", "null", "a number"].map(
    (what) =>
      [
        `takes ${what} for an answer`,
        ofResults((line) => [{ ...line, response: { statusCode: 200, body: {} }, error: null }]),
        `never takes an answer of 200 for a success where it is ${what}`,
      ] as const,
  ),
  ["remembers its lines", remembering, "keeps nothing"],
  [
    "makes a new batch at each create",
    withMethods(() => ({
      create: async () => {
        creates += 1;
        return { id: String(creates) } as never;
      },
    })),
    "keeps nothing",
  ],
  [
    "keeps results until the last has ended",
    withMethods((own) => ({
      async *execute(...call) {
        const lines: ResultLine[] = [];
        for await (const line of own(...call)) lines.push(line);
        yield* lines;
      },
    })),
    "gives each result when it is ready",
  ],
  [
    "runs one line too many",
    ({ concurrency, ...options }) => openHandler({ ...options, concurrency: concurrency + 1 }),
    "runs at most `concurrency` lines",
  ],
  [
    "reads all of its lines before it runs any",
    withMethods((own) => ({
      async *execute(lines, call, name) {
        const all: string[] = [];
        for await (const line of lines) all.push(line);
        yield* own(of(all), call, name);
      },
    })),
    "runs at most `concurrency` lines",
  ],
  [
    "has a limit of its own for each batch",
    async (options) => {
      const accounts = [await openHandler(options), await openHandler(options)] as const;
      let turn = 0;
      const execute: Execute = (...call) => {
        turn += 1;
        return (accounts[turn % 2 === 0 ? 0 : 1].account.execute as Execute)(...call);
      };
      return { account: changed(accounts[0].account, () => ({ execute })) };
    },
    "runs at most `concurrency` lines",
  ],
  [
    "ignores its signal",
    withMethods((own) => ({
      execute: (lines, _call, name) => own(lines, { signal: new AbortController().signal }, name),
    })),
    "starts no line after an abort",
  ],
  [
    "looks at its signal only later",
    withMethods((own) => ({
      async *execute(lines, { signal }, name) {
        yield* own(lines, { signal: new AbortController().signal }, name);
        signal.throwIfAborted();
      },
    })),
    "starts no line where it was aborted before it began",
  ],
  [
    "continues when its results are no longer read",
    withMethods((own) => ({
      execute: (...call) => {
        const results = own(...call)[Symbol.asyncIterator]();
        const held: Promise<IteratorResult<ResultLine>>[] = [];
        for (let index = 0; index <= 1_000; index += 1) held.push(results.next());
        return {
          [Symbol.asyncIterator]: () => ({ next: async () => (await held.shift()) ?? { done: true, value: null } }),
        };
      },
    })),
    "starts no further line once its results",
  ],
  [
    "loses running lines when its source fails",
    withMethods((own) => ({
      async *execute(lines, call, name) {
        let broken: unknown = null;
        const watched = async function* (): AsyncGenerator<string> {
          try {
            yield* lines;
          } catch (error) {
            broken = error;
            throw error;
          }
        };
        for await (const line of own(watched(), call, name)) {
          if (broken !== null) throw broken;
          yield line;
        }
      },
    })),
    "gives the results of running lines before it rejects",
  ],
  [
    "blames lines when the server is down",
    async (options): Promise<RunnerRig> => {
      const rig = await openServer(options);
      const execute = async function* (...[lines]: Parameters<Execute>): AsyncGenerator<ResultLine> {
        for await (const _line of lines) yield { customId: "a", response: null, error: null, usage: null };
      };
      return { ...rig, account: changed(rig.account, () => ({ execute })) };
    },
    "blames no line when the server is down",
  ],
  ["accepts every body", withMethods(() => ({ checkBody: () => {} })), "refuses unsupported bodies"],
  ["measures lines wrongly", withMethods(() => ({ lineBytes: () => 1 })), "refuses unsupported bodies"],
];

/** Cases that call a real server, for which fake timers would not wait. */
const overSockets: ReadonlySet<string> = new Set(["blames lines when the server is down"]);

describe("an account that runs lines itself and", () => {
  test.each(faults)("%s fails the case about it", async (fault, open, fails) => {
    if (!overSockets.has(fault)) {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }).setTimerTickMode("nextTimerAsync");
      onTestFinished(() => {
        vi.useRealTimers();
      });
    }
    const [about] = runnerConformance.filter(({ name }) => name.startsWith(fails));
    await expect(about?.run(open)).rejects.toThrow();
  });
});

test("each case is failed by one of these accounts", () => {
  const unproved = runnerConformance.filter(({ name }) => !faults.some(([, , fails]) => name.startsWith(fails)));
  expect(unproved.map(({ name }) => name)).toEqual([]);
});
