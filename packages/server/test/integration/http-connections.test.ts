import diagnostics from "node:diagnostics_channel";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { embed, exchange, startSmall } from "../support/services.ts";

describe("a health check without a Host header", () => {
  test.each(["/healthz", "/readyz"])("at %s is answered, in HTTP/1.0 and 1.1", async (path) => {
    const service = await startSmall();
    for (const version of ["1.0", "1.1"]) {
      const answer = await exchange(service, `GET ${path} HTTP/${version}\r\nconnection: close\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1.1 200 /);
    }
  });
});

describe("an idle connection", () => {
  const question = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";

  test("is kept for 65 seconds, longer than the 60 of common load balancers", async () => {
    const service = await startSmall();
    const answer = await fetch(`${service.url}/healthz`);
    expect(answer.headers.get("keep-alive")).toBe("timeout=65");
  });

  test("is closed after the configured time, and not before", async () => {
    const service = await startSmall({ keepAliveMs: 1_000 });
    const startedAt = performance.now();
    expect(await exchange(service, question)).toMatch(/^HTTP\/1.1 200 /);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(990);
  });
});

describe("a service that is stopped with a drain delay", () => {
  test("fails health checks at once, keeps answering texts on new connections, and then refuses them", async () => {
    const service = await startSmall({ drainDelayMs: 2_000 });
    const startedAt = performance.now();
    const closed = service.close();
    for (const path of ["/healthz", "/readyz"]) {
      const check = await fetch(service.url + path);
      expect({ path, status: check.status }).toEqual({ path, status: 503 });
    }
    const answered = await embed(service, "late, but not too late");
    expect(answered.status).toBe(200);
    expect(answered.headers.get("connection")).toBe("close");
    await closed;
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(1_990);
    await expect(embed(service, "too late")).rejects.toThrow();
  });
});

describe("a service that is stopped while a connection is open", () => {
  test("does not wait for one on which nothing was ever sent", async () => {
    const service = await startSmall({ drainTimeoutMs: 10_000 });
    const silent = connect(service.port, "127.0.0.1");
    onTestFinished(() => void silent.destroy());
    await once(silent, "connect");
    // Answered after the server has taken the silent one, which came before.
    await (await fetch(`${service.url}/healthz`)).text();
    const startedAt = performance.now();
    await service.close();
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });

  test("answers one that was accepted and of which nothing was read yet, and says that it shuts down", async () => {
    const service = await startSmall();
    const stopped = new Promise<void>((resolve) => {
      const stop = (): void => {
        diagnostics.unsubscribe("net.server.socket", stop);
        service.close().then(resolve);
      };
      // Published as soon as the server has accepted a connection, before anything of it is read.
      diagnostics.subscribe("net.server.socket", stop);
    });
    const body = JSON.stringify({ model: "batchwise-demo", input: "late" });
    const head = "POST /v1/embeddings HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
    const answer = await exchange(service, `${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    expect(answer).toMatch(/^HTTP\/1.1 503 .*"code":"shutting_down"/s);
    await stopped;
  });

  test("answers one on which a request has begun", async () => {
    const service = await startSmall();
    const body = JSON.stringify({ model: "batchwise-demo", input: "late" });
    const head = "POST /v1/embeddings HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
    const socket = connect(service.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk.toString();
    });
    socket.write(`${head}\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 5)}`);
    await (await fetch(`${service.url}/healthz`)).text();
    const closed = service.close();
    socket.write(body.slice(5));
    await closed;
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
  });
});
