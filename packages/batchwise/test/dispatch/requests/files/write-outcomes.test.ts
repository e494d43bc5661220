import { createWriteStream, readFileSync } from "node:fs";
import { Writable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import type { LoggedOutcome, Outcome } from "../../../../src/dispatch/contract/types.ts";
import { type NodeWritable, writeOutcomes } from "../../../../src/dispatch/requests/files/write-outcomes.ts";
import { makeFolder } from "../../stores/sqlite/folder.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

function outcome(id: string, cursor: number): LoggedOutcome {
  return {
    ...{
      id,
      cursor,
      status: "succeeded",
      response: { statusCode: 200, body: { answer: `${id}\n\u2028` } },
      error: null,
    },
    ...{ attempts: 1, usage: null, recordedAt: 5, tenant: "", job: "", batch: null, metadata: null },
  };
}

const failed: Outcome = {
  ...{ id: "bad", status: "failed", response: null, error: { code: "missing_result", message: "No line." } },
  ...{ attempts: 3, usage: null, batch: null },
};

const linesOf = (text: string): unknown[] =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));

test("writes OpenAI's lines to a file and closes it", async () => {
  const path = folder.file();
  const file = createWriteStream(path);
  expect(await writeOutcomes(file, [outcome("a", 1), failed])).toBe(2);
  expect(file.closed || file.writableFinished).toBe(true);
  expect(linesOf(readFileSync(path, "utf8"))).toEqual([
    { id: "outcome_1", custom_id: "a", response: { status_code: 200, body: { answer: "a\n\u2028" } }, error: null },
    { id: "outcome_of_bad", custom_id: "bad", response: null, error: { code: "missing_result", message: "No line." } },
  ]);
});

test("writes outcomes unchanged with that option", async () => {
  const path = folder.file();
  await writeOutcomes(createWriteStream(path), [outcome("a", 1)], { format: "full" });
  expect(linesOf(readFileSync(path, "utf8"))).toEqual([outcome("a", 1)]);
});

test("takes the next outcome only when a Node stream has room", async () => {
  let taken = 0;
  const outcomes = function* (): Generator<Outcome> {
    for (; taken < 1_000; taken += 1) yield outcome(`a${taken}`, taken + 1);
  };
  const held: (() => void)[] = [];
  const slow = new Writable({ highWaterMark: 1_000, write: (_chunk, _encoding, done) => void held.push(done) });
  const writing = writeOutcomes(slow, outcomes());
  await turn();
  expect(taken).toBeLessThan(20);
  slow._write = (_chunk, _encoding, done) => done();
  held.shift()?.();
  expect(await writing).toBe(1_000);
});

test("takes the next outcome only when a web stream has room, and closes it", async () => {
  let [taken, closed, text] = [0, false, ""];
  const outcomes = function* (): Generator<Outcome> {
    for (; taken < 50; taken += 1) yield outcome(`a${taken}`, taken + 1);
  };
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const stream = new WritableStream<Uint8Array>({
    write: async (bytes) => {
      await gate;
      text += new TextDecoder().decode(bytes);
    },
    close: () => {
      closed = true;
    },
  });
  const writing = writeOutcomes(stream, outcomes());
  await turn();
  expect(taken).toBeLessThan(5);
  open();
  expect(await writing).toBe(50);
  expect([closed, linesOf(text).length]).toEqual([true, 50]);
});

test("keeps a stream open with that option, with all lines written", async () => {
  const written: string[] = [];
  const stream = new Writable({
    write: (chunk, _encoding, done) => void setImmediate(() => done(void written.push(String(chunk)) as never)),
  });
  await writeOutcomes(stream, [outcome("a", 1), outcome("b", 2)], { keepOpen: true });
  expect([written.length, stream.writableEnded]).toEqual([2, false]);
  const web = new WritableStream<Uint8Array>();
  await writeOutcomes(web, [outcome("a", 1)], { keepOpen: true });
  expect(web.locked).toBe(false);
  await web.close();
});

test("never ends standard output", async () => {
  const stream = Object.assign(new Writable({ write: (_chunk, _encoding, done) => done() }), { fd: 1 });
  await writeOutcomes(stream, [outcome("a", 1)]);
  expect(stream.writableEnded).toBe(false);
});

test("when the outcomes reject, it writes the earlier ones, closes, and rejects with the same error", async () => {
  const path = folder.file();
  const broken = async function* (): AsyncGenerator<Outcome> {
    yield outcome("a", 1);
    throw new Error("QUARANTINED");
  };
  await expect(writeOutcomes(createWriteStream(path), broken())).rejects.toThrow("QUARANTINED");
  expect(linesOf(readFileSync(path, "utf8"))).toHaveLength(1);
});

test("rejects with the stream's error, and takes no more outcomes", async () => {
  let taken = 0;
  const outcomes = async function* (): AsyncGenerator<Outcome> {
    for (; taken < 100; taken += 1) {
      await turn();
      yield outcome("a", 1);
    }
  };
  const full = new Writable({ write: (_chunk, _encoding, done) => done(new Error("ENOSPC: no space left")) });
  await expect(writeOutcomes(full, outcomes())).rejects.toThrow("ENOSPC");
  expect(taken).toBeLessThan(5);
  await expect(writeOutcomes(createWriteStream("/no/such/folder/out"), [outcome("a", 1)])).rejects.toThrow("ENOENT");
  const web = new WritableStream<Uint8Array>({ write: () => Promise.reject(new Error("EPIPE")) });
  await expect(writeOutcomes(web, outcomes())).rejects.toThrow("EPIPE");
});

test("a write that fails last does not end the process: its error event still finds a listener", async () => {
  const full = new Writable({ write: (_chunk, _encoding, done) => done(new Error("ENOSPC: no space left")) });
  await expect(writeOutcomes(full, [outcome("a", 1)])).rejects.toThrow("ENOSPC");
  expect(full.listenerCount("error")).toBeGreaterThan(0);
});

test("rejects at once when the stream fails while the next outcome is a day away, and lets go of the outcomes", async () => {
  for (const kind of ["node", "web"]) {
    let isLeft = false;
    const never: AsyncIterable<Outcome> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => {}),
        return: () => {
          isLeft = true;
          return new Promise(() => {});
        },
      }),
    };
    const web = new WritableStream<Uint8Array>({ start: (controller) => controller.error(new Error("ENOENT")) });
    const stream = kind === "web" ? web : createWriteStream("/no/such/folder/out");
    await expect(writeOutcomes(stream, never)).rejects.toThrow("ENOENT");
    expect(isLeft).toBe(true);
  }
});

test("refuses a value that is no stream, and options that it does not know", async () => {
  const path = "out.jsonl" as unknown as NodeWritable;
  await expect(writeOutcomes(path, [])).rejects.toThrow("Expected a stream to write to, got a string: pass create");
  const stream = new Writable();
  await expect(writeOutcomes(stream, [], { format: "csv" as "full" })).rejects.toThrow('"openai" or "full"');
  await expect(writeOutcomes(stream, [], { keepopen: true } as object)).rejects.toThrow("keepOpen");
});
