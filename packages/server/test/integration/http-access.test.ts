import { describe, expect, test } from "vitest";
import { type AccessRecord, formatAccess } from "../../src/http/monitoring/access-log.ts";
import { startCommand } from "../support/command.ts";
import { temporaryFolder } from "../support/folders.ts";
import { embed, startSmall, until } from "../support/services.ts";

describe("the id of a request", () => {
  test("is the caller's own, also when the request fails", async () => {
    const service = await startSmall();
    for (const input of ["text", 7]) {
      const { headers } = await embed(service, input, { "x-request-id": "trace-0af7651916cd43dd" });
      expect(headers.get("x-request-id")).toBe("trace-0af7651916cd43dd");
    }
  });

  test("is a new one where the caller's is too long, or could forge a line of the log", async () => {
    const service = await startSmall();
    for (const id of ["a".repeat(256), "a b", '"}{"status":200']) {
      const { headers } = await embed(service, "text", { "x-request-id": id });
      expect(headers.get("x-request-id")).toMatch(/^req_[0-9a-f]{32}$/);
    }
  });
});

describe("the access log", () => {
  test("has a record a request, with its work and how it ended", async () => {
    const records: AccessRecord[] = [];
    const service = await startSmall({ onAccess: (record) => records.push(record) });
    const answered = await embed(service, ["grey rain", "piano"], { "x-request-id": "first" });
    const { usage } = (await answered.json()) as { readonly usage: { readonly total_tokens: number } };
    await embed(service, []);
    await fetch(`${service.url}/v1/nothing?key=secret`);
    await until(() => records.length === 3);
    expect(records).toMatchObject([
      { id: "first", method: "POST", path: "/v1/embeddings", status: 200, texts: 2, tokens: usage.total_tokens },
      { method: "POST", path: "/v1/embeddings", status: 400, texts: 0, tokens: 0 },
      { method: "GET", path: "/v1/nothing", status: 404 },
    ]);
    for (const { ms, time } of records) {
      expect(ms).toBeGreaterThanOrEqual(0);
      expect(Math.abs(Date.now() - Date.parse(time))).toBeLessThan(60_000);
    }
  });

  test.each(["/v1/models/x%0Aforged", "/v1/models/x%20200%209%20texts", "/v1/models/x%0D%0Aforged"])(
    "has the path as it was sent: %s",
    async (path) => {
      const records: AccessRecord[] = [];
      const service = await startSmall({ onAccess: (record) => records.push(record) });
      await (await fetch(service.url + path)).text();
      await until(() => records.length > 0);
      expect(records).toMatchObject([{ path }]);
      const [record] = records as [AccessRecord];
      expect(formatAccess(record, "text").split(/\s/)).toHaveLength(11);
    },
  );

  test.each([
    ["json", /^\{"time":"[^"]+","id":"mine","method":"GET","path":"\/v1\/models","status":200,.*\}$/m],
    ["text", /^\S+ mine GET \/v1\/models 200 0 texts 0 tokens [\d.]+ ms$/m],
  ])("is printed by batchwise serve as %s", async (format, line) => {
    const folder = await temporaryFolder();
    const command = startCommand("serve", "--model-dir", folder, "--port", "0", "--access-log", format);
    const [, url] = await command.prints(/ at (http:\S+)/);
    await fetch(`${url}/v1/models`, { headers: { "x-request-id": "mine" } });
    await command.prints(line);
  });
});
