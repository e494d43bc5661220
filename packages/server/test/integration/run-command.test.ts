import { existsSync, mkdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ended, Practice, QUICK, until } from "../support/practice.ts";

const REQUESTS = 1_200;

/** One batch ends after the other, so that there is a middle to be killed in. */
function oneAfterTheOther(): Promise<Practice> {
  return Practice.start({ plan: ({ index }) => ({ validateMs: 100, runMs: 500 * (index + 1), finalizeMs: 100 }) });
}

function expectAllOnce(practice: Practice, count: number): void {
  const lines = practice.lines("in.outcomes.jsonl");
  expect([lines.length, new Set(lines.map(({ custom_id: id }) => id)).size]).toEqual([count, count]);
  expect(lines.every(({ response }) => response?.status_code === 200)).toBe(true);
  const runs = [...practice.fake.runs().values()];
  expect([runs.length, Math.max(...runs)]).toEqual([count, 1]);
}

describe("batchwise run", () => {
  test("writes an outcome for each line, under the line's own id, and reports its work", async () => {
    const practice = await Practice.start();
    practice.writeLines("in.jsonl", 20);
    const { code, output } = await ended(practice.run("in.jsonl", "--price", "1000000/0"));
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining("20 outcomes (20 succeeded)") });
    expect(output).toMatch(/20 of 20 · done · .*tokens · \$\d/);
    expect(
      practice
        .lines("in.outcomes.jsonl")
        .map(({ custom_id: id }) => id)
        .sort(),
    ).toContain("r19");
    expectAllOnce(practice, 20);
    expect(existsSync(practice.file("in.outcomes.jsonl.lock"))).toBe(false);
  });

  test("with --json prints one object, and nothing else, to standard output", async () => {
    const practice = await Practice.start();
    practice.writeLines("in.jsonl", 3);
    const { code, stdout } = await ended(practice.run("in.jsonl", "--output", "o.jsonl", "--job", "j", "--json"));
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ job: "j", input: "in.jsonl", output: "o.jsonl", requests: 3, outcomes: 3, succeeded: 3, failed: 0 },
      ...{ stopped: false, quarantined: [] },
    });
  });

  test("sends to Anthropic with its key, and gives answers in OpenAI's shape", async () => {
    const practice = await Practice.start();
    practice.writeLines("in.jsonl", 3);
    const env = { ANTHROPIC_API_KEY: "practice", ANTHROPIC_BASE_URL: practice.url.replace("/v1", "") };
    const args = ["run", "in.jsonl", "--model", "m", ...QUICK];
    const { code, output } = await ended(practice.startWith(env, ...args));
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining("3 outcomes (3 succeeded)") });
    expect(practice.fake.calls("messages.create")).toBe(1);
    expect(practice.lines("in.outcomes.jsonl")[0]).toMatchObject({ response: { body: { object: "chat.completion" } } });
  });

  test("takes plain bodies, with --model where they name none; each line is known by its place", async () => {
    const practice = await Practice.start();
    practice.write("in.jsonl", '\uFEFF{"input":"a"}\r\n\r\n{"id":"b","body":{"input":"b"}}\r\n{"input":"c"}');
    expect(await ended(practice.run("in.jsonl", "--model", "m", "--format", "full"))).toMatchObject({ code: 0 });
    const lines = practice.lines("in.outcomes.jsonl") as unknown as { readonly id: string; readonly status: string }[];
    expect(lines.map(({ id, status }) => `${id} ${status}`).sort()).toEqual([
      "0 succeeded",
      "2 succeeded",
      "b succeeded",
    ]);
  });

  test("with another --model than an earlier run of the job is refused, until --on-change keep", async () => {
    const practice = await Practice.start();
    practice.write("in.jsonl", '{"input":"a"}');
    expect(await ended(practice.run("in.jsonl", "--model", "m"))).toMatchObject({ code: 0 });
    const { code, output } = await ended(practice.run("in.jsonl", "--model", "n"));
    expect({ code, output }).toMatchObject({ code: 2, output: expect.stringContaining("had another --model") });
    expect(output).toContain("pass another --job, or --on-change keep. Nothing was sent in this run.");
    practice.write("in.jsonl", '{"input":"a"}\n{"input":"b"}');
    const kept = await ended(practice.run("in.jsonl", "--model", "n", "--on-change", "keep"));
    expect(kept).toMatchObject({ code: 0, output: expect.stringContaining("2 outcomes (2 succeeded)") });
    expect(kept.output).not.toContain("0 of 2 ·");
    expect(practice.fake.calls("batches.create")).toBe(2);
  });

  test("killed with SIGKILL while it sends and while it writes, it gives each line one outcome, run once", async () => {
    const practice = await oneAfterTheOther();
    practice.writeLines("in.jsonl", REQUESTS);
    const run = (): ReturnType<Practice["run"]> => practice.run("in.jsonl", "--max-requests", "300");
    const sending = run();
    await until(() => practice.fake.calls("batches.create") > 0);
    sending.process.kill("SIGKILL");
    expect(await sending.ended).toBe("SIGKILL");

    const writing = run();
    await until(() => practice.lines("in.outcomes.jsonl").length > 0);
    writing.process.kill("SIGKILL");
    expect(await writing.ended).toBe("SIGKILL");
    expect(practice.lines("in.outcomes.jsonl").length).toBeLessThan(REQUESTS);

    const last = await ended(run());
    expect(last).toMatchObject({ code: 0, output: expect.stringContaining("1,200 of them from an earlier run") });
    expectAllOnce(practice, REQUESTS);
    expect(existsSync(practice.file("in.outcomes.jsonl.previous"))).toBe(false);
  });

  test("keeps the output of an earlier run until all of it has been written again", async () => {
    const practice = await oneAfterTheOther();
    practice.writeLines("in.jsonl", 20);
    const written = '{"id":"outcome_1","custom_id":"r0","response":null,"error":null}\n';
    practice.write("in.outcomes.jsonl", written);
    const command = practice.run("in.jsonl");
    await until(() => practice.fake.calls("batches.create") > 0);
    command.process.kill("SIGTERM");
    expect(await command.ended).toBe(143);
    expect(practice.lines("in.outcomes.jsonl.previous").length).toBe(1);
    expect(await ended(practice.run("in.jsonl"))).toMatchObject({ code: 0 });
    expectAllOnce(practice, 20);
    expect(existsSync(practice.file("in.outcomes.jsonl.previous"))).toBe(false);
  });

  test("stops on Ctrl-C with 130 and names the command that continues, which does", async () => {
    const practice = await oneAfterTheOther();
    practice.writeLines("in.jsonl", REQUESTS);
    const command = practice.run("in.jsonl", "--max-requests", "300");
    await until(() => practice.lines("in.outcomes.jsonl").length > 0);
    command.process.kill("SIGINT");
    const { code, output } = await ended(command);
    expect({ code, output }).toMatchObject({ code: 130, output: expect.stringMatching(/Stopped: \d+ of 1,200 done/) });
    expect(output).toContain("To continue: batchwise run in.jsonl --poll-ms 200");
    expect(await ended(practice.run("in.jsonl", "--max-requests", "300"))).toMatchObject({ code: 0 });
    expectAllOnce(practice, REQUESTS);
  });

  test("ends with 3 where a request failed, and runs it again after jobs retry", async () => {
    let isBad = true;
    const answer = (): { status: number; body: object } =>
      isBad ? { status: 400, body: { error: { code: "bad", message: "No." } } } : { status: 200, body: { ok: true } };
    const practice = await Practice.start({ answer: answer as never });
    practice.writeLines("in.jsonl", 2);
    const first = await ended(practice.run("in.jsonl"));
    expect(first).toMatchObject({ code: 3, output: expect.stringContaining("batchwise jobs retry --job in, then") });
    expect(practice.lines("in.outcomes.jsonl")[0]).toMatchObject({ error: { code: "bad" } });
    isBad = false;
    const { output } = await practice.done("jobs", "retry", "--job", "in");
    expect(output).toContain("Set to run again: 2 requests.");
    expect(await ended(practice.run("in.jsonl"))).toMatchObject({ code: 0 });
    expect(practice.lines("in.outcomes.jsonl")).toMatchObject([{ error: null }, { error: null }]);
  });

  test("shows when the last requests are tried again, and no time left till then", async () => {
    const answer = ({ body }: { readonly body: object }): { status: number; body: object } =>
      JSON.stringify(body).includes("Say 1.")
        ? { status: 500, body: { error: { code: "server_error", message: "Busy." } } }
        : { status: 200, body: { ok: true } };
    const practice = await Practice.start({ answer: answer as never });
    practice.writeLines("in.jsonl", 3);
    const [line] = await practice.run("in.jsonl").prints(/^.*tried again.*$/m);
    expect(line).toMatch(/^2 of 3 · 1 waits to be tried again, next in \d+ s · [\d.]+\/s/);
  });

  test("two files with the same ids are two jobs in one store", async () => {
    const practice = await Practice.start();
    practice.writeLines("march.jsonl", 2);
    practice.writeLines("april.jsonl", 3);
    expect(await ended(practice.run("march.jsonl"))).toMatchObject({ code: 0 });
    expect(await ended(practice.run("april.jsonl"))).toMatchObject({ code: 0 });
    expect(practice.lines("march.outcomes.jsonl").length).toBe(2);
    expect(practice.lines("april.outcomes.jsonl").length).toBe(3);
  });

  test("a changed file is refused for the same job, and nothing of it is sent later", async () => {
    const practice = await Practice.start();
    practice.write("in.jsonl", '{"model":"m","input":"a"}\n');
    expect(await ended(practice.run("in.jsonl"))).toMatchObject({ code: 0 });
    practice.write("in.jsonl", '{"model":"m","input":"new"}\n{"model":"m","input":"a"}\n');
    const { code, output } = await ended(practice.run("in.jsonl"));
    expect(code).toBe(2);
    expect(output.trim().split("\n").at(-1)).toBe(
      'batchwise: Line 1 of in.jsonl is another request than in an earlier run of the job "in": pass another --job. ' +
        "Nothing of this file was sent in this run.",
    );
    expect(await ended(practice.run("in.jsonl", "--job", "other"))).toMatchObject({ code: 0 });
    expect([...practice.fake.runs().values()].reduce((sum, runs) => sum + runs, 0)).toBe(3);
    expect(practice.lines("in.outcomes.jsonl").length).toBe(2);
  });

  test("of a file in which a late line has changed, no earlier line is added either", async () => {
    const practice = await Practice.start();
    practice.write("in.jsonl", '{"id":"z","body":{"model":"m","input":"a"}}\n');
    expect(await ended(practice.run("in.jsonl"))).toMatchObject({ code: 0 });
    const added = Array.from({ length: 1_000 }, (_, n) => `{"id":"r${n}","body":{"model":"m","input":"a"}}\n`);
    practice.write("in.jsonl", `${added.join("")}{"id":"z","body":{"model":"m","input":"b"}}\n`);
    const { code, output } = await ended(practice.run("in.jsonl"));
    expect({ code, output }).toMatchObject({ code: 2, output: expect.stringContaining("Line 1001 of in.jsonl is") });
    const { stdout } = await practice.done("jobs", "list", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ jobs: [{ job: "in", requests: 1 }] });
    practice.write("in.jsonl", `${added.join("")}{"id":"z","body":{"model":"m","input":"a"}}\n`);
    const grown = await ended(practice.run("in.jsonl"));
    expect(grown).toMatchObject({ code: 0, output: expect.stringContaining("1 of them from an earlier run") });
    expect(practice.lines("in.outcomes.jsonl").length).toBe(1_001);
  });

  test("a second process on one output is refused while the first lives", async () => {
    const practice = await Practice.start({ plan: { validateMs: 0, runMs: 60_000, finalizeMs: 0 } });
    practice.writeLines("in.jsonl", 1);
    const first = practice.run("in.jsonl");
    await until(() => practice.fake.calls("batches.create") > 0);
    const second = await ended(practice.run("in.jsonl"));
    expect(second).toMatchObject({ code: 2 });
    expect(second.output).toContain(`in.outcomes.jsonl is being written by process ${first.process.pid}`);
  });

  describe("refuses, with exit code 2, before it stores anything:", () => {
    const cases: readonly (readonly [name: string, input: string | null, args: readonly string[], says: string])[] = [
      ["a file that is not there", null, [], "There is no file in.jsonl."],
      ["an empty file", "", [], "in.jsonl has no requests: expected one JSON object a line."],
      ["a file of blank lines", "\n\r\n", [], "in.jsonl has no requests"],
      ["a bad line, however late", '{"input":"a"}\nnonsense', [], "in.jsonl: Line 2: expected JSON, got nonsense"],
      [
        "an id twice",
        '{"id":"a","input":"a"}\n{"id":"a","input":"b"}',
        [],
        'Line 2: expected an id that no other line has, got "a"',
      ],
      ["another job in a line", '{"job":"x","body":{"input":"a"}}', [], 'Line 1: expected no `job`, or "in"'],
      ["the input as output", '{"input":"a"}', ["--output", "in.jsonl"], "The output in.jsonl is the input"],
      [
        "an output of something else",
        '{"input":"a"}',
        ["--output", "notes.txt"],
        "notes.txt has something else than outcomes",
      ],
      ["an output in no folder", '{"input":"a"}', ["--output", "no/o.jsonl"], "There is no folder no for the output."],
      ["an output that is a folder", '{"input":"a"}', ["--output", "folder"], "The output folder is a folder"],
      ["an unknown store", '{"input":"a"}', ["--store", "mysql://u:secret@h/d"], 'got an address of "mysql"'],
      ["an unknown account", '{"input":"a"}', ["--account", "cohere"], "Allowed choices are openai, anthropic, gemini"],
      ["a price in words", '{"input":"a"}', ["--price", "cheap"], "such as 0.05/0.20"],
      ["an account without its key", '{"input":"a"}', ["--account", "anthropic"], "ANTHROPIC_API_KEY is not set"],
    ];

    test.each(cases)("%s", async (_name, input, args, says) => {
      const practice = await Practice.start();
      practice.write("notes.txt", "My notes.\n");
      mkdirSync(practice.file("folder"));
      if (input !== null) practice.write("in.jsonl", input);
      const { code, output } = await ended(practice.run("in.jsonl", ...args));
      expect({ code, output }).toMatchObject({ code: 2, output: expect.stringContaining(says) });
      expect(output).not.toContain("    at ");
      expect(existsSync(practice.file("batchwise.sqlite"))).toBe(false);
      expect(practice.lines("in.outcomes.jsonl")).toEqual([]);
    });

    test("no key at all", async () => {
      const practice = await Practice.start();
      practice.writeLines("in.jsonl", 1);
      const command = practice.startWith({}, "run", "in.jsonl");
      const says =
        "No provider's key is set: export OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or MISTRAL_API_KEY";
      expect(await ended(command)).toMatchObject({ code: 2, output: expect.stringContaining(says) });
    });

    test("a key that the provider refuses", async () => {
      const practice = await Practice.start();
      practice.writeLines("in.jsonl", 1);
      practice.fake.inject({
        on: "batches.list",
        times: 9,
        reply: { status: 401, body: { error: { message: "Wrong key." } } },
      });
      const { code, output } = await ended(practice.run("in.jsonl"));
      expect({ code, output }).toMatchObject({
        code: 2,
        output: expect.stringContaining("refuses the key in OPENAI_API_KEY"),
      });
      expect(practice.fake.calls("files.create")).toBe(0);
    });
  });

  test("a key that may not list is reported, and runs all the same", async () => {
    const practice = await Practice.start();
    practice.writeLines("in.jsonl", 1);
    const body = { error: { message: "You have insufficient permissions. Missing scopes: api.files.read." } };
    practice.fake.inject({ on: "batches.list", times: 99, reply: { status: 403, body } });
    const { code, output } = await ended(practice.run("in.jsonl"));
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringMatching(/does not let the key in OPENAI_API_KEY list anything: .*It may still send/),
    });
  });

  test("a request without a model is refused by its line, with a hint at --model", async () => {
    const practice = await Practice.start();
    practice.write("in.jsonl", '{"model":"m","input":"a"}\n\n{"input":"b"}\n');
    const { code, output } = await ended(practice.run("in.jsonl"));
    expect({ code, output }).toMatchObject({
      code: 2,
      output: expect.stringContaining("in.jsonl: Line 3: expected a `model`"),
    });
    expect(practice.fake.calls("files.create")).toBe(0);
  });

  test("an address without a server is reported with exit code 1", async () => {
    const practice = await Practice.start();
    practice.writeLines("in.jsonl", 1);
    const args = ["run", "in.jsonl", "--base-url", "http://127.0.0.1:1/v1", ...QUICK];
    const { code, output } = await practice.done(...args);
    expect(code).toBe(1);
    expect(output).toMatch(
      /no server answers at http:\S+:1\/v1: Connection error.*\. Check --base-url \/ OPENAI_BASE_URL/,
    );
  });
});
