// `batchwise run --account …` for each account, as a user starts it: the real command, the official
// clients with what they read from the environment, and the fakes of the providers and of their
// storage over loopback.

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type FakeStorage, fakeGcs, fakeS3 } from "batchwise/dispatch/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { loadClient } from "../../src/cli/common/packages.ts";
import { type Ended, ended, Practice, QUICK } from "../support/practice.ts";

const ROLE = "arn:aws:iam::123456789012:role/bedrock-batches";
const AWS = { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret", AWS_REGION: "us-east-1" };
const GOOGLE = { GOOGLE_CLOUD_PROJECT: "my-project", GOOGLE_CLOUD_LOCATION: "us-central1" };

type Environment = Readonly<Record<string, string>>;

function start(practice: Practice, env: Environment, ...args: readonly string[]): Promise<Ended> {
  return ended(practice.startWith(env, ...args));
}

function run(practice: Practice, env: Environment, ...args: readonly string[]): Promise<Ended> {
  return start(practice, env, "run", "in.jsonl", ...QUICK, ...args);
}

async function listening(storage: FakeStorage): Promise<string> {
  const { url, close } = await storage.listen();
  onTestFinished(() => close());
  return url;
}

/**
 * Like emulators of Cloud Storage, where the client uses "/b" instead of Google's "/storage/v1/b".
 */
async function emulating(gcs: FakeStorage): Promise<string> {
  return serving(async (request, response) => {
    const path = request.url ?? "";
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = "GET" } = request;
    const body = method === "GET" ? {} : { body: Buffer.concat(chunks) };
    const headers = request.headers as Record<string, string>;
    const where = `http://fake.test${path.startsWith("/b/") ? "/storage/v1" : ""}${path}`;
    const answer = await gcs.fetch(where, { method, headers, ...body });
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
}

/** Gives the address, without a slash at its end. */
async function serving(answer: (request: IncomingMessage, response: ServerResponse) => unknown): Promise<string> {
  const server = createServer(answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/**
 * The metadata server of a machine in Google's cloud, which hands out tokens; Google's clients find
 * it by a variable.
 */
async function metadataServer(): Promise<Environment> {
  const url = await serving((_request, response) => {
    response.writeHead(200, { "content-type": "application/json", "metadata-flavor": "Google" });
    response.end(JSON.stringify({ access_token: "token", expires_in: 3_600, token_type: "Bearer" }));
  });
  return { GCE_METADATA_HOST: url.replace("http://", ""), METADATA_SERVER_DETECTION: "assume-present" };
}

/** A server with OpenAI's API that returns its input, if the key is right. */
async function modelServer(key: string): Promise<string> {
  const url = await serving(async (request, response) => {
    const isRefused = request.headers.authorization !== `Bearer ${key}`;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    response.writeHead(isRefused ? 401 : 200, { "content-type": "application/json" });
    const { messages = [] } = JSON.parse(Buffer.concat(chunks).toString() || "{}");
    const message = { role: "assistant", content: `echo: ${messages.at(-1)?.content}` };
    response.end(JSON.stringify({ object: "chat.completion", choices: [{ index: 0, message }] }));
  });
  return `${url}/v1`;
}

function answered(practice: Practice, count: number): void {
  const lines = practice.lines("in.outcomes.jsonl");
  expect(lines).toHaveLength(count);
  for (const { custom_id: id, response } of lines) {
    expect(response).toMatchObject({
      status_code: 200,
      body: { choices: [{ message: { content: `echo: Say ${id.slice(1)}.` } }] },
    });
  }
}

describe("batchwise run sends to", () => {
  test.each([
    ["GEMINI_API_KEY", []],
    ["GOOGLE_API_KEY", ["--account", "gemini"]],
  ])("Gemini, with the key in %s", async (key, args) => {
    const practice = await Practice.start();
    practice.writeLines("in.jsonl", 3, "gemini-2.5-flash");
    const env = {
      [key]: "practice",
      GOOGLE_GENAI_USE_VERTEXAI: "true",
      GOOGLE_GEMINI_BASE_URL: practice.url.replace("/v1", ""),
    };
    const { code, output } = await run(practice, env, ...args);
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining("3 outcomes (3 succeeded)") });
    expect(practice.fake.calls("gemini.create")).toBe(1);
    answered(practice, 3);
  });

  test("Mistral, with its key and another address", async () => {
    const practice = await Practice.start({ dialect: "mistral" });
    practice.writeLines("in.jsonl", 3, "mistral-small-latest");
    const { code, output } = await run(
      practice,
      { MISTRAL_API_KEY: "practice" },
      ...["--base-url", practice.url.replace("/v1", "")],
    );
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining("3 outcomes (3 succeeded)") });
    expect(practice.fake.calls("jobs.create")).toBe(1);
    answered(practice, 3);
  });

  test("Voyage, with its key, another address and OpenAI's client", async () => {
    const practice = await Practice.start({ dialect: "voyage" });
    const lines = [0, 1, 2].map((n) =>
      JSON.stringify({
        ...{ custom_id: `r${n}`, method: "POST", url: "/v1/embeddings" },
        body: { model: "voyage-3.5", input: `text ${n}`, input_type: "document" },
      }),
    );
    practice.write("in.jsonl", `${lines.join("\n")}\n`);
    const args = ["--account", "voyage", "--base-url", practice.url];
    const { code, output } = await run(practice, { VOYAGE_API_KEY: "practice" }, ...args);
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining("3 outcomes (3 succeeded)") });
    expect(practice.fake.calls("batches.create")).toBe(1);
  });

  test("xAI, with its key, another address and OpenAI's client", async () => {
    const practice = await Practice.start({ dialect: "xai" });
    const body = { model: "grok-4.3", messages: [{ role: "user", content: "hello" }] };
    const lines = [0, 1, 2].map((n) =>
      JSON.stringify({ custom_id: `r${n}`, method: "POST", url: "/v1/chat/completions", body }),
    );
    practice.write("in.jsonl", `${lines.join("\n")}\n`);
    const args = ["--account", "xai", "--base-url", practice.url];
    const { code, output } = await run(practice, { XAI_API_KEY: "practice" }, ...args);
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining("3 outcomes (3 succeeded)") });
    expect(practice.fake.calls("batches.create")).toBe(1);
  });

  test("Vertex AI, with application default credentials and a bucket", async () => {
    const gcs = fakeGcs();
    const practice = await Practice.start({ storage: gcs });
    practice.writeLines("in.jsonl", 3, "gemini-2.5-flash");
    const env = {
      ...GOOGLE,
      ...(await metadataServer()),
      GOOGLE_VERTEX_BASE_URL: practice.url.replace("/v1", ""),
      STORAGE_EMULATOR_HOST: await emulating(gcs),
    };
    const { code, output } = await run(practice, env, "--account", "vertex", "--bucket", "gs://bucket/prod/");
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining("3 outcomes (3 succeeded)") });
    expect(practice.fake.calls("vertex.create")).toBe(1);
    expect(gcs.names("bucket").every((name) => name.startsWith("prod/"))).toBe(true);
    answered(practice, 3);
  });

  test("Bedrock, with AWS's own variables, a bucket and a role", async () => {
    const s3 = fakeS3();
    const practice = await Practice.start({ storage: s3 });
    practice.writeLines("in.jsonl", 100, "us.amazon.nova-lite-v1:0");
    const env = {
      ...AWS,
      AWS_ENDPOINT_URL_BEDROCK: practice.url.replace("/v1", ""),
      AWS_ENDPOINT_URL_S3: await listening(s3),
      BATCHWISE_BUCKET: "bucket",
      BATCHWISE_ROLE_ARN: ROLE,
    };
    const { code, output } = await run(practice, env, "--account", "bedrock");
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringContaining("100 outcomes (100 succeeded)"),
    });
    expect(practice.fake.calls("invocationJobs.create")).toBe(1);
    answered(practice, 100);

    practice.writeLines("in.jsonl", 3, "us.amazon.nova-lite-v1:0");
    const few = await run(practice, env, "--account", "bedrock", "--job", "few", "--output", "few.jsonl");
    expect(few).toMatchObject({ code: 3, output: expect.stringContaining("3 outcomes (3 failed)") });
    expect(practice.lines("few.jsonl")).toMatchObject(new Array(3).fill({ error: { code: "below_minimum" } }));
  });

  test("a server of OpenAI's shape, by itself, with a key of its own", async () => {
    const practice = await Practice.start();
    practice.writeLines("in.jsonl", 20);
    const url = await modelServer("local-key");
    const args = ["--account", "local", "--base-url", url];
    const { code, output } = await run(practice, { BATCHWISE_API_KEY: "local-key" }, ...args, "--concurrency", "4");
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining("20 outcomes (20 succeeded)") });
    answered(practice, 20);
    const doctor = await start(practice, { BATCHWISE_API_KEY: "local-key" }, "jobs", "doctor", ...args);
    expect(doctor.output).toContain(`ok      account: ${url} takes the key in BATCHWISE_API_KEY`);
    const refused = await run(practice, { OPENAI_API_KEY: "local-key" }, ...args);
    expect(refused).toMatchObject({ code: 2, output: expect.stringContaining(`${url} refuses calls without a key`) });
    expect(refused.output).toContain("Export BATCHWISE_API_KEY with the server's key.");
  });
});

describe("an account that lacks something is refused with exit code 2, in words that name the expected value:", () => {
  test.each<[string, readonly string[], Environment, string]>([
    ["gemini without a key", ["gemini"], {}, "GEMINI_API_KEY is not set, and --account gemini needs it"],
    ["mistral without a key", ["mistral"], {}, "MISTRAL_API_KEY is not set, and --account mistral needs it"],
    ["vertex without a bucket", ["vertex"], GOOGLE, "--account vertex needs a bucket that batches are read from"],
    [
      "vertex with a bucket in S3",
      ["vertex", "--bucket", "s3://bucket"],
      GOOGLE,
      'Expected --bucket of --account vertex to be gs://<bucket>[/<prefix>], got "s3://bucket"',
    ],
    [
      "vertex without a project",
      ["vertex", "--bucket", "bucket"],
      {},
      "GOOGLE_CLOUD_PROJECT is not set, and --account vertex needs it: export GOOGLE_CLOUD_PROJECT=my-project",
    ],
    [
      "vertex without a location",
      ["vertex", "--bucket", "bucket"],
      { GOOGLE_CLOUD_PROJECT: "p" },
      "GOOGLE_CLOUD_LOCATION is not set",
    ],
    ["bedrock without a bucket", ["bedrock"], AWS, "--bucket s3://<bucket>[/<prefix>], or BATCHWISE_BUCKET"],
    ["bedrock without a role", ["bedrock", "--bucket", "b"], AWS, "--role-arn arn:aws:iam::<account>:role/<name>"],
    [
      "bedrock with half a role",
      ["bedrock", "--bucket", "bucket", "--role-arn", "bedrock-batches"],
      AWS,
      "Expected `roleArn` to be the ARN of a role",
    ],
    [
      "bedrock without a region",
      ["bedrock", "--bucket", "bucket", "--role-arn", ROLE],
      { ...AWS, AWS_REGION: "", AWS_CONFIG_FILE: "none" },
      "--account bedrock needs a region: export AWS_REGION=us-east-1",
    ],
    [
      "bedrock without credentials",
      ["bedrock", "--bucket", "bucket", "--role-arn", ROLE],
      { AWS_REGION: "us-east-1", AWS_EC2_METADATA_DISABLED: "true", AWS_SHARED_CREDENTIALS_FILE: "none" },
      "--account bedrock needs credentials: ",
    ],
    ["local without an address", ["local"], {}, "--account local needs the address of a server of OpenAI's shape"],
    ["local with half an address", ["local", "--base-url", "localhost:8000"], {}, 'http or https address, got "'],
    [
      "a bucket for another account",
      ["mistral", "--bucket", "b"],
      { MISTRAL_API_KEY: "k" },
      "--bucket is for --account vertex and bedrock, not for mistral",
    ],
    [
      "a role for another account",
      ["vertex", "--bucket", "b", "--role-arn", ROLE],
      GOOGLE,
      "--role-arn is for --account bedrock, not for vertex",
    ],
    ["an account that there is not", ["cohere"], {}, "Allowed choices are openai, anthropic, gemini, vertex, bedrock"],
  ])("%s", async (_what, args, env, says) => {
    const practice = await Practice.start();
    practice.writeLines("in.jsonl", 1);
    const { code, output } = await run(practice, env, "--account", ...args);
    expect({ code, output }).toMatchObject({ code: 2, output: expect.stringContaining(says) });
    expect(output).not.toContain("    at ");
  });

  test("a package that is not installed", async () => {
    const missing = loadClient("no-such-client", "Client", "--account x");
    await expect(missing).rejects.toThrow(
      '--account x needs the package "no-such-client", which is not installed here: npm install no-such-client',
    );
    const early = loadClient("openai", "NoSuchClass", "--account x");
    await expect(early).rejects.toThrow('needs a later version of the package "openai": it has no NoSuchClass');
  });

  test("a bucket that is not there", async () => {
    const s3 = fakeS3();
    const practice = await Practice.start({ storage: s3 });
    practice.writeLines("in.jsonl", 100, "us.amazon.nova-lite-v1:0");
    const env = {
      ...AWS,
      AWS_ENDPOINT_URL_BEDROCK: practice.url.replace("/v1", ""),
      AWS_ENDPOINT_URL_S3: await listening(s3),
    };
    const args = ["--account", "bedrock", "--bucket", "s3://no-such-bucket", "--role-arn", ROLE];
    const { code, output } = await run(practice, env, ...args);
    expect({ code, output }).toMatchObject({ code: 2, output: expect.stringContaining("s3://no-such-bucket") });
    expect(output).toContain("Check --bucket.");
  });

  test("Google's credentials that are nowhere", async () => {
    const practice = await Practice.start();
    practice.writeLines("in.jsonl", 1, "gemini-2.5-flash");
    const env = { ...GOOGLE, METADATA_SERVER_DETECTION: "none", HOME: practice.folder };
    const { code, output } = await run(practice, env, "--account", "vertex", "--bucket", "bucket");
    expect({ code, output }).toMatchObject({
      code: 2,
      output: expect.stringContaining("there are no credentials for"),
    });
    expect(output).toContain("gcloud auth application-default login");
  });
});
