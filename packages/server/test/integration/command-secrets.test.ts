// The command with keys and passwords that must not be printed, whatever goes wrong.

import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { ended, Practice, QUICK } from "../support/practice.ts";

const KEY = "sk-live-0123456789abcdef";
const BROKEN = "sk-live-0123456789\nabcdef-of-the-next-line";
const PASSWORD = "pass-word-0123456";

/** Answers every call with this status and all of its headers. */
async function gateway(status: number): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: `upstream: ${JSON.stringify(request.headers)}` } }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

describe("a key with a line break", () => {
  test.each([
    ["openai", "OPENAI_API_KEY", []],
    ["anthropic", "ANTHROPIC_API_KEY", []],
    ["gemini", "GEMINI_API_KEY", []],
    ["mistral", "MISTRAL_API_KEY", []],
    ["local", "BATCHWISE_API_KEY", ["--base-url", "http://127.0.0.1:1/v1"]],
  ])("of %s is refused by its name, by run and by doctor", async (account, name, more) => {
    const practice = await Practice.start();
    practice.writeLines("in.jsonl", 1);
    for (const command of [
      ["run", "in.jsonl"],
      ["jobs", "doctor"],
    ]) {
      const args = [...command, "--account", account, ...more];
      const { output } = await ended(practice.startWith({ [name]: BROKEN }, ...args));
      expect(output).toContain(`The key in ${name} has a line break`);
      expect(output).not.toMatch(/sk-live|next-line/);
    }
  });
});

test.each([[401], [500]])("a gateway that answers %s with the headers that it got shows no key", async (status) => {
  const practice = await Practice.start();
  practice.writeLines("in.jsonl", 1);
  const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: await gateway(status), BATCHWISE_DEBUG: "1" };
  const run = await ended(practice.startWith(env, "run", "in.jsonl", ...QUICK));
  const doctor = await ended(practice.startWith(env, "jobs", "doctor"));
  expect(run.output).toContain("[secret]");
  expect(doctor.output).toContain("[secret]");
  expect(run.output + doctor.output).not.toContain(KEY);
});

test("a stack that BATCHWISE_DEBUG prints shows no key", async () => {
  const practice = await Practice.start();
  practice.writeLines("in.jsonl", 1);
  // The folder is named like the key, so the error of the file system quotes it.
  const folder = `${practice.folder}/${KEY}`;
  mkdirSync(`${folder}.sqlite`, { recursive: true });
  const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: practice.url, BATCHWISE_DEBUG: "1" };
  for (const args of [
    ["run", "in.jsonl", "--store", `sqlite:${folder}.sqlite`],
    ["run", "in.jsonl", "--output", `${folder}.sqlite/in/none`],
    ["run", folder],
  ]) {
    const { code, output } = await ended(practice.startWith(env, ...args));
    expect(code).not.toBe(0);
    expect(output).toContain("[secret]");
    expect(output).not.toContain(KEY);
  }
});

test("a failed line with the key in it is stored and written without it", async () => {
  const practice = await Practice.start();
  practice.writeLines("in.jsonl", 1);
  const env = { BATCHWISE_API_KEY: KEY, BATCHWISE_STORE: "sqlite:a.sqlite" };
  const url = await gateway(400);
  const { code, output } = await ended(
    practice.startWith(env, "run", "in.jsonl", "--account", "local", "--base-url", url, ...QUICK),
  );
  expect(code).toBe(3);
  const written = readFileSync(practice.file("in.outcomes.jsonl"), "utf8");
  expect(written).toContain("[secret]");
  const stored = ["a.sqlite", "a.sqlite-wal"].map((name) => {
    try {
      return readFileSync(practice.file(name), "latin1");
    } catch {
      return "";
    }
  });
  for (const text of [output, written, ...stored]) expect(text).not.toContain(KEY);
});

describe("a password in an address", () => {
  test.each([
    ["Postgres", "127.0.0.1:1/db", "ECONNREFUSED"],
    ["POSTGRESQL", "127.0.0.1:1/db", "ECONNREFUSED"],
    ["REDIS", "127.0.0.1:1", "redis://me:…@127.0.0.1:1 does not answer"],
    ["my_db", "127.0.0.1:1/db", 'got an address of "my_db"'],
    ["redis6", "127.0.0.1:1/db", 'got an address of "redis6"'],
  ])("of --store %s:// is not shown", async (scheme, place, says) => {
    const practice = await Practice.start();
    const store = `${scheme}://me:${PASSWORD}@${place}`;
    for (const args of [
      ["jobs", "list", "--store", store],
      ["jobs", "doctor", `--store=${store}`],
    ]) {
      const { output } = await practice.done(...args);
      expect(output).toContain(says);
      expect(output).not.toContain(PASSWORD);
    }
  });

  test("of BATCHWISE_STORE is not shown by --help", async () => {
    const practice = await Practice.start();
    const env = { BATCHWISE_STORE: `postgres://me:${PASSWORD}@host/db` };
    const { output } = await ended(practice.startWith(env, "run", "--help"));
    expect(output).toContain("postgres://me:…@host/db");
    expect(output).not.toContain(PASSWORD);
  });

  test.each(["openai", "anthropic", "gemini", "mistral", "local"])(
    "of --base-url is refused for %s, and not shown",
    async (account) => {
      const practice = await Practice.start();
      practice.writeLines("in.jsonl", 1);
      const names = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY"];
      const env = Object.fromEntries(names.map((name) => [name, "k"]));
      const url = `https://me:${PASSWORD}@127.0.0.1/v1`;
      const { code, output } = await ended(
        practice.startWith(env, "run", "in.jsonl", "--account", account, "--base-url", url),
      );
      expect({ code, output }).toMatchObject({
        code: 2,
        output: expect.stringContaining("without a user and a password"),
      });
      expect(output).not.toContain(PASSWORD);
    },
  );

  test("of a variable of the client is refused by its name", async () => {
    const practice = await Practice.start();
    const env = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: `https://me:${PASSWORD}@127.0.0.1/v1` };
    const { output } = await ended(practice.startWith(env, "jobs", "doctor"));
    expect(output).toContain("Expected OPENAI_BASE_URL to be an http or https address without a user and a password");
    expect(output).not.toContain(PASSWORD);
  });
});
