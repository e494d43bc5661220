import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { isLoopback } from "../../src/http/requests/allowed-hosts.ts";
import type { Service } from "../../src/http/service.ts";
import { startCommand } from "../support/command.ts";
import { temporaryFolder } from "../support/folders.ts";
import { embed, exchange, type Failure, startSmall } from "../support/services.ts";

interface Outcome {
  readonly status: number | undefined;
  readonly code: string | null;
  readonly message: string;
}

/** Posts with node:http, since `fetch` does not let one set `host` and `origin`. */
function post(service: Service, headers: Record<string, string>): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const asked = request(`${service.url}/v1/embeddings`, { method: "POST", headers }, (response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => {
        const { error } = JSON.parse(text) as Partial<Failure>;
        resolve({ status: response.statusCode, code: error?.code ?? null, message: error?.message ?? "" });
      });
    });
    asked.on("error", reject);
    asked.end(JSON.stringify({ model: "batchwise-demo", input: "text" }));
  });
}

const JSON_TYPE = { "content-type": "application/json" };

describe("the Host header", () => {
  test("may be a loopback name, an IP address or the name that the service listens on", async () => {
    const service = await startSmall({ host: "localhost" });
    const own = ["localhost", "LOCALHOST:80", "app.localhost:3000", "127.0.0.1", "10.0.0.7:8080", "[::1]:8080"];
    own.push("localhost.", "LOCALHOST.:80", "127.1", "127.1:8080", "0x7f.1", "2130706433");
    for (const host of own) {
      expect({ host, ...(await post(service, { ...JSON_TYPE, host })) }).toMatchObject({ host, status: 200 });
    }
  });

  test("may be an IPv6 address however it is written", async () => {
    const service = await startSmall();
    const written = ["0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "::FFFF:7F00:1", "0000::0001", "fd00:0:0::1"];
    for (const address of written) {
      for (const host of [`[${address}]`, `[${address}]:8080`]) {
        expect({ host, ...(await post(service, { ...JSON_TYPE, host })) }).toMatchObject({ host, status: 200 });
      }
    }
    expect((await post(service, { ...JSON_TYPE, host: "[0:0:0:0:0:0:0:1]/path" })).status).toBe(400);
  });

  test("is refused with the option that allows it when it is another name, as after DNS rebinding", async () => {
    const service = await startSmall();
    for (const host of ["evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example"]) {
      const { message, ...outcome } = await post(service, { ...JSON_TYPE, host, origin: `http://${host}` });
      expect({ host, ...outcome }).toEqual({ host, status: 403, code: "host_not_allowed" });
      const name = host.replace(":8080", "");
      expect(message).toBe(`Host \`${name}\` is not allowed. Start with --allow-host ${name}.`);
    }
    expect(await exchange(service, "GET /stats HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n")).toMatch(
      /^HTTP\/1.1 403 /,
    );
    // Load balancers ask under any name.
    expect(await exchange(service, "GET /healthz HTTP/1.1\r\nhost: pool\r\nconnection: close\r\n\r\n")).toMatch(
      /^HTTP\/1.1 200 /,
    );
  });

  test("is needed, but for health checks", async () => {
    const answer = await exchange(await startSmall(), "GET /v1/models HTTP/1.0\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toContain("missing_host");
  });

  test("may be a name that was allowed, and any when all are", async () => {
    const one = await startSmall({ allowHost: ["Embeddings"] });
    expect((await post(one, { ...JSON_TYPE, host: "embeddings:8080" })).status).toBe(200);
    expect((await post(one, { ...JSON_TYPE, host: "other:8080" })).status).toBe(403);
    const all = await startSmall({ allowHost: ["*"] });
    expect((await post(all, { ...JSON_TYPE, host: "other:8080" })).status).toBe(200);
  });
});

describe("the Origin header", () => {
  test("is refused when it is of another page, also one of this machine, also when all hosts are allowed", async () => {
    const service = await startSmall({ allowHost: ["*"] });
    for (const origin of ["https://evil.example", "http://localhost:3000", "http://127.0.0.1:1", "null"]) {
      const { message, ...outcome } = await post(service, { ...JSON_TYPE, origin });
      expect({ origin, ...outcome }).toEqual({ origin, status: 403, code: "origin_not_allowed" });
      expect(message).toContain(origin);
    }
    expect(service.embedder.batcher.stats().submitted).toBe(0);
  });

  test("may be of the service's own page, also behind a proxy whose name was allowed", async () => {
    const service = await startSmall({ allowHost: ["app.example"] });
    expect((await post(service, { ...JSON_TYPE, origin: service.url })).status).toBe(200);
    expect((await post(service, { ...JSON_TYPE, origin: "https://app.example" })).status).toBe(200);
    expect((await post(service, { ...JSON_TYPE, origin: "https://app.example.evil" })).status).toBe(403);
  });
});

describe("the content type", () => {
  test("is refused when it is one that a page can send without a preflight, and curl's own", async () => {
    const service = await startSmall();
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json"]) {
      const refused = await embed(service, "text", { "content-type": type });
      expect({ type, status: refused.status }).toEqual({ type, status: 415 });
      expect(((await refused.json()) as Failure).error.message).toContain("-H 'content-type: application/json'");
    }
  });

  test("may name a character set, or be left out", async () => {
    const service = await startSmall();
    expect((await embed(service, "text", { "content-type": "Application/JSON; charset=utf-8" })).status).toBe(200);
    expect((await post(service, {})).status).toBe(200);
  });
});

describe("batchwise serve", () => {
  const serve = async (host: string): Promise<string> => {
    const folder = await temporaryFolder();
    const command = startCommand("serve", "--model-dir", folder, "--port", "0", "--host", host);
    await command.prints(/Ctrl-C/);
    return command.output();
  };

  test.each(["127.0.0.1", "127.8.9.1", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "localhost", "app.localhost"])(
    "knows that only this machine reaches %s",
    (host) => expect(isLoopback(host)).toBe(true),
  );

  test.each(["0.0.0.0", "::", "128.0.0.1", "::ffff:10.0.0.7", "127.example.com", "localhost.example.com"])(
    "knows that other machines may reach %s",
    (host) => expect(isLoopback(host)).toBe(false),
  );

  test("warns when other machines can reach it, and only then", async () => {
    expect(await serve("0.0.0.0")).toMatch(/Warning: listening on 0\.0\.0\.0, so other machines may reach/);
    expect(await serve("localhost")).not.toContain("Warning");
  });
});
