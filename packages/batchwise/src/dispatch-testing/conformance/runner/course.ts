// Cases on one pass of `execute`: lines at once, order of results, and aborting.

import { deepEqual, equal, ok } from "node:assert/strict";
import {
  Bench,
  echo,
  execute,
  failure,
  Gates,
  inTime,
  linesOf,
  moment,
  names,
  type RunnerCase,
  Source,
  until,
} from "./case.ts";

export const runnerCourseCases: readonly RunnerCase[] = [
  {
    name: "gives each result when it is ready, in any order, while other lines run",
    async run(open) {
      const gates = new Gates();
      const { account } = await new Bench(gates.hold).open(open, { concurrency: 3 });
      const pass = execute(account, linesOf(account, 3));
      const seen: string[] = [];
      let next = pass.next();
      await until(() => gates.held === 3, "three calls");
      for (const ord of [2, 0, 1]) {
        gates.end(`text ${ord}`);
        const { value } = await next;
        seen.push(value.customId);
        next = pass.next();
      }
      equal((await next).done, true);
      deepEqual(
        seen,
        [2, 0, 1].map((ord) => names(3)[ord]),
      );
    },
  },
  {
    name: "runs at most `concurrency` lines over all of its batches, and takes no more",
    async run(open) {
      const gates = new Gates();
      const bench = new Bench(gates.hold);
      const { account } = await bench.open(open, { concurrency: 4 });
      const sources = [new Source(linesOf(account, 20)), new Source(linesOf(account, 20))];
      const passes = sources.map((source) => execute(account, source).rest());
      let ended = 0;
      const ends = Promise.all(passes).then((all) => {
        ended = all.flat().length;
      });
      // Awaited below, unless an assertion fails first.
      ends.catch(() => {});
      await until(() => gates.held === 4, "four calls");
      await moment();
      const taken = sources.reduce((sum, source) => sum + source.taken, 0);
      ok(taken <= 4, `expected at most 4 lines taken, got ${taken}`);
      const release = async (): Promise<void> => {
        while (ended === 0) {
          gates.endAll();
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      };
      await inTime(Promise.all([ends, release()]), "the end of both passes");
      deepEqual([ended, bench.most], [40, 4]);
    },
  },
  {
    name: "starts no line after an abort, and ends soon, whatever still runs",
    async run(open) {
      const gates = new Gates();
      const bench = new Bench(gates.hold);
      const { account } = await bench.open(open, { concurrency: 2 });
      const pass = execute(account, linesOf(account, 20));
      const next = failure(pass.next());
      await until(() => gates.held === 2, "two calls");
      const reason = new Error("Stop now.");
      pass.stop.abort(reason);
      equal(await inTime(next, "an end"), reason);
      gates.endAll();
      await moment();
      deepEqual(bench.asked.toSorted(), ["text 0", "text 1"]);
    },
  },
  {
    name: "starts no line where it was aborted before it began",
    async run(open) {
      const bench = new Bench();
      const { account } = await bench.open(open);
      const pass = execute(account, linesOf(account, 5));
      pass.stop.abort(new Error("Stop now."));
      await failure(pass.next());
      await moment();
      equal(bench.asked.length, 0);
    },
  },
  {
    name: "starts no further line once its results are no longer read",
    async run(open) {
      const bench = new Bench();
      const { account } = await bench.open(open, { concurrency: 1 });
      const pass = execute(account, linesOf(account, 1_000));
      equal((await pass.next()).done, false);
      await pass.return();
      await moment();
      const before = bench.asked.length;
      await moment();
      equal(bench.asked.length, before);
      ok(before < 1_000, "expected lines that were not run");
    },
  },
  {
    name: "gives the results of running lines before it rejects with its source's error",
    async run(open) {
      const gates = new Gates();
      const bench = new Bench((said) => (said === "text 1" ? gates.hold(said) : echo(said)));
      const { account } = await bench.open(open, { concurrency: 4 });
      const lines = linesOf(account, 2);
      const reason = new Error("The store is away.");
      const source = async function* (): AsyncGenerator<string> {
        yield* lines;
        throw reason;
      };
      const pass = execute(account, source());
      equal((await pass.next()).value?.customId, names(1)[0]);
      await until(() => gates.held === 1, "a call");
      gates.endAll();
      equal((await pass.next()).value?.customId, names(2)[1]);
      equal(await failure(pass.next()), reason);
    },
  },
  {
    name: "blames no line when the server is down: the pass rejects with a reason that can be classified",
    async run(open) {
      const bench = new Bench();
      const { account, away } = await bench.open(open, { concurrency: 1 });
      if (away === undefined) return;
      await away();
      const pass = execute(account, linesOf(account, 3));
      const error = await failure(pass.next());
      const { kind, code, message } = account.classify(error, "execute");
      deepEqual([kind, code !== "" && message !== ""], ["unknown", true]);
      equal(bench.asked.length, 0);
    },
  },
  {
    name: "refuses unsupported bodies at enqueue, and writes lines that can be measured",
    async run(open) {
      const { account } = await new Bench().open(open);
      const { endpoints } = account.capabilities;
      const [endpoint = ""] = endpoints;
      const refused = (path: string, body: object): string => {
        try {
          account.checkBody(path, body as never);
        } catch (error) {
          return String((error as { readonly code?: unknown }).code);
        }
        return "taken";
      };
      equal(
        refused(endpoint, { stream: true, messages: [{ role: "user", content: "a" }], input: "a" }),
        "INVALID_REQUEST",
      );
      equal(refused("/v1/no-such-endpoint", {}), "INVALID_REQUEST");
      const [line = ""] = linesOf(account, 1);
      ok(line.endsWith("\n") && line.indexOf("\n") === line.length - 1, "expected one line");
      const request = { customId: names(1)[0] ?? "", endpoint, body: '{"model":"m","input":"ä"}' };
      const measured = account.lineBytes?.(request, Buffer.byteLength(request.body));
      if (measured !== undefined) equal(measured, Buffer.byteLength(account.encodeLine(request)));
    },
  },
];
