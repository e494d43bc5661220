import { describe, expect, test } from "vitest";
import { exchange, startSmall } from "../support/services.ts";

describe("a health check without a Host header", () => {
  test.each(["/healthz", "/readyz"])("at %s is answered, in HTTP/1.0 and 1.1", async (path) => {
    const service = await startSmall();
    for (const version of ["1.0", "1.1"]) {
      const answer = await exchange(service, `GET ${path} HTTP/${version}\r\nconnection: close\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1.1 200 /);
    }
  });
});
