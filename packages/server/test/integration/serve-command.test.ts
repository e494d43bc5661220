import { execFile } from "node:child_process";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { connect, createServer } from "node:net";
import { relative } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { type Command, PROGRAM, startCommand, startCommandIn } from "../support/command.ts";
import { temporaryFolder } from "../support/folders.ts";

let folder: string;

beforeAll(async () => {
  folder = await temporaryFolder();
});

const serve = (...args: readonly string[]): Command => startCommand("serve", "--model-dir", folder, ...args);

async function urlOf(command: Command): Promise<string> {
  const [, url] = await command.prints(/ at (http:\S+)/);
  return url ?? "";
}

function post(url: string, input: unknown): Promise<Response> {
  return fetch(`${url}/v1/embeddings`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "batchwise-demo", input }),
  });
}

describe("batchwise serve", () => {
  test("prints its address, the model, and a curl line that works", async () => {
    const command = serve("--port", "0");
    const url = await urlOf(command);
    expect(command.output()).toContain("random weights");
    expect(command.output()).toContain("--tokenizer path/to/tokenizer.json");
    expect(command.output()).toContain(`${url}/stats`);
    const [line] = await command.prints(/curl \S+\/v1\/embeddings.*/);
    const { stdout } = await promisify(execFile)("sh", ["-c", `${line} --silent`]);
    expect(JSON.parse(stdout)).toMatchObject({
      object: "list",
      model: "batchwise-demo",
      data: [{ index: 0 }, { index: 1 }],
    });
  });

  test.each([
    [{ npm_command: "start" }, "npx batchwise serve --model path/to/model.onnx"],
    [{}, `node ${relative(process.cwd(), PROGRAM)} serve --model path/to/model.onnx`],
  ])("with %j in the environment it says how to start it with a model", async (env, line) => {
    const command = startCommandIn({ env }, "serve", "--model-dir", folder, "--port", "0");
    await urlOf(command);
    await command.prints(/Ctrl-C/);
    expect(command.output()).toContain(`For real embeddings: ${line}`);
  });

  test.each(["SIGINT", "SIGTERM"] as const)(
    "answers for the running service on %s, and exits with 0",
    async (signal) => {
      const command = serve("--port", "0", "--max-wait-ms", "60000");
      const url = await urlOf(command);
      const running = Array.from({ length: 20 }, (_, index) => post(url, [`text number ${index}`, "and another"]));
      await waiting(url, 40);
      command.process.kill(signal);
      const statuses = (await Promise.all(running)).map((response) => response.status);
      expect(statuses).toEqual(Array(20).fill(200));
      expect(await command.ended).toBe(0);
      await expect(post(url, "late")).rejects.toThrow();
    },
  );

  test("fails health checks for --drain-delay-ms after SIGTERM, while texts are still answered", async () => {
    const command = serve("--port", "0", "--drain-delay-ms", "2000");
    const url = await urlOf(command);
    command.process.kill("SIGTERM");
    await command.prints(/Stopping/);
    expect((await fetch(`${url}/healthz`)).status).toBe(503);
    expect((await post(url, "text")).status).toBe(200);
    expect(await command.ended).toBe(0);
  });

  test("takes two signals close together for one Ctrl-C, as a package manager in between sends them", async () => {
    const command = serve("--port", "0", "--max-wait-ms", "60000");
    const url = await urlOf(command);
    const running = post(url, "text");
    await waiting(url, 1);
    command.process.kill("SIGINT");
    command.process.kill("SIGINT");
    expect((await running).status).toBe(200);
    expect(await command.ended).toBe(0);
  });

  test("ends at once on a second Ctrl-C", async () => {
    const command = serve("--port", "0");
    const url = new URL(await urlOf(command));
    // A request that never ends keeps the first Ctrl-C waiting.
    const socket = (await import("node:net")).connect(Number(url.port), url.hostname);
    socket.on("error", () => undefined);
    socket.write("POST /v1/embeddings HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{");
    await post(url.origin, "after the socket is known");
    command.process.kill("SIGINT");
    await command.prints(/Press Ctrl-C again/);
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(command.process.exitCode).toBeNull();
    command.process.kill("SIGINT");
    expect(await command.ended).toBe("SIGINT");
    socket.destroy();
  });

  test("takes --keep-alive-ms, --allow-host and --max-upload-bytes", async () => {
    const limits = ["--keep-alive-ms", "7000", "--max-upload-bytes", String(8 * 1024 * 1024)];
    const command = serve("--port", "0", "--allow-host", "embeddings.internal", ...limits);
    const url = await urlOf(command);
    const ask = async (host: string): Promise<IncomingMessage> => {
      const request = get(`${url}/v1/models`, { headers: { host } });
      const [answer] = (await once(request, "response")) as [IncomingMessage];
      answer.resume();
      return answer;
    };
    const allowed = await ask("embeddings.internal");
    expect([allowed.statusCode, allowed.headers["keep-alive"]]).toEqual([200, "timeout=7"]);
    expect((await ask("elsewhere.internal")).statusCode).not.toBe(200);
    const upload = connect(Number(new URL(url).port), "127.0.0.1");
    upload.write("POST /v1/embeddings HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n");
    const size = 8 * 1024 * 1024;
    upload.write(`content-length: ${size}\r\n\r\n${" ".repeat(size - 1_000)}`);
    await expect.poll(async () => (await post(url, "a ".repeat(50_000))).status).toBe(503);
    upload.destroy();
    command.process.kill("SIGTERM");
    expect(await command.ended).toBe(0);
  });

  test("fails with the reason when the chosen port is taken", async () => {
    const other = createServer();
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const command = serve("--port", String(port));
    expect(await command.ended).toBe(1);
    expect(command.output()).toContain(`Port ${port} of 127.0.0.1 is taken: name another with --port`);
    other.close();
  });

  test.each([
    [["--port", "70000"], "from 0 to 65535", 2],
    [["--workers", "0"], "integer >= 1", 2],
    [["--max-wait-ms", "soon"], "integer >= 0", 2],
    [["--model", "/nowhere/model.onnx"], "There is no model at /nowhere/model.onnx", 1],
    [["--colour"], "unknown option", 2],
  ])("refuses %j with the expected value: %s", async (args, message, code) => {
    const command = serve(...args);
    expect(await command.ended).toBe(code);
    expect(command.output()).toContain(message);
    expect(command.output()).not.toContain("    at ");
  });
});

/** Waits until that many texts wait in the server's queue. */
async function waiting(url: string, count: number): Promise<void> {
  for (;;) {
    const { stats } = (await (await fetch(`${url}/stats`)).json()) as { stats: { waiting: number } };
    if (stats.waiting >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
