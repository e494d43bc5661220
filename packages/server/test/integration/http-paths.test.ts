// Paths that a gateway's rules may read as another path than the service does.

import { expect, test } from "vitest";
import { type AccessRecord, formatAccess } from "../../src/http/monitoring/access-log.ts";
import type { Service } from "../../src/http/service.ts";
import { exchange, startSmall, until } from "../support/services.ts";

function get(service: Service, target: string, host = "localhost"): Promise<string> {
  return exchange(service, `GET ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
}

test("are refused, whatever route they would come to", async () => {
  const service = await startSmall();
  const targets = [
    ...["/v1/models/../../stats", "/v1/./../stats", "/v1/models/..", "/v1/models/a/./b", "/stats/."],
    ...["/v1/%2e%2e/stats", "/v1/models/%2E%2e/%2e./stats", "/v1/models/..%2f..%2fstats", "/v1/models/a%2f."],
    ...["/v1/models/%252e%252e/stats", "/v1/models/%25252e%25252e%25252fstats"],
    ...["/v1\\..\\stats", "\\stats", "/v1/models/..\\..\\stats", "/v1/models/..%5c..%5cstats", "/v1/models/a%255cb"],
    ...["/%73tats", "/v1%2fmodels", "/v1/model%73", "/stats%00", "/%2fstats", "/v1/models/%", "/v1/models/%ff"],
    ...["/stats#a", "/v1/models#/../stats", "http://localhost/stats", "HTTP://localhost/v1/models", "localhost/stats"],
  ];
  for (const target of targets) {
    const answer = await get(service, target);
    expect({ target, answer }).toEqual({
      target,
      answer: expect.stringMatching(/^HTTP\/1.1 400 [\s\S]*malformed_request/),
    });
  }
});

test("are refused where the Host header has them", async () => {
  const service = await startSmall();
  for (const host of ["localhost/stats?", "localhost/stats#", "localhost\\stats?", "a@localhost/stats?"]) {
    expect({ host, answer: await get(service, "/", host) }).toEqual({
      host,
      answer: expect.stringMatching(/^HTTP\/1.1 400 /),
    });
  }
});

test("are taken under each way to write an address of this machine", async () => {
  const service = await startSmall();
  const names = ["localhost", "LOCALHOST:80", "127.1", "127.0.0.1:8080", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]:1"];
  for (const host of names) {
    expect({ host, answer: await get(service, "/v1/models", host) }).toEqual({
      host,
      answer: expect.stringMatching(/^HTTP\/1.1 200 /),
    });
  }
});

test("with more slashes come to no route", async () => {
  const service = await startSmall();
  for (const target of ["//stats", "/stats/", "//localhost/stats", "/v1//.../stats"]) {
    expect({ target, answer: await get(service, target) }).toEqual({
      target,
      answer: expect.stringMatching(/^HTTP\/1.1 404 /),
    });
  }
});

test("may name a model with encoded characters and a slash, and have dots in a query", async () => {
  const service = await startSmall({ modelName: "org/a model.v1..2" });
  for (const target of ["/v1/models/org%2Fa%20model.v1..2", "/v1/models/org/a%20model%2Ev1..2?x=/../%2e%2e#"]) {
    expect(await get(service, target)).toMatch(/^HTTP\/1.1 200 /);
  }
  expect(await get(service, "/healthz?a=../../b%2fc")).toMatch(/^HTTP\/1.1 200 /);
});

test.each([
  ["/v1/models/../../stats", "localhost", "/v1/models/../../stats"],
  ["/v1/%2e%2e/stats?key=secret", "localhost", "/v1/%2e%2e/stats"],
  ["/\\stats", "localhost", "/\\stats"],
  ["http://name:secret@localhost/stats?key=secret", "localhost", "/stats"],
  ["/v1/models", "xn--a", "/v1/models"],
  ["/v1/models", "localhost/stats?", "/v1/models"],
  ["/v1/models", "a@localhost", "/v1/models"],
])("are in the access log and the metrics once they are refused: %s of %s", async (target, host, path) => {
  const records: AccessRecord[] = [];
  const service = await startSmall({ onAccess: (record) => records.push(record) });
  const headers = `host: ${host}\r\nx-request-id: mine\r\nconnection: close`;
  const answer = await exchange(service, `GET ${target} HTTP/1.1\r\n${headers}\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1.1 400 [\s\S]*x-request-id: mine[\s\S]*malformed_request/);
  await until(() => records.length > 0);
  expect(records).toMatchObject([{ id: "mine", method: "GET", path, status: 400, texts: 0, tokens: 0 }]);
  expect(formatAccess(records[0] as AccessRecord, "text").split(/\s/)).toHaveLength(11);
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  expect(metrics).toMatch(/_count\{http_request_method="GET",http_response_status_code="400"\} 1/);
});

test("are refused before their body is read, and the connection continues", async () => {
  const records: AccessRecord[] = [];
  const service = await startSmall({ onAccess: (record) => records.push(record) });
  const post = "POST /v1/../v1/embeddings HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}";
  const answer = await exchange(
    service,
    `${post}GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`,
  );
  expect(answer).toMatch(/^HTTP\/1.1 400 [\s\S]*HTTP\/1.1 200 /);
  await until(() => records.length === 2);
  expect(records.map(({ status, path }) => [status, path])).toEqual([
    [400, "/v1/../v1/embeddings"],
    [200, "/healthz"],
  ]);
});
