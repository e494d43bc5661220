/** Functions for logs and warnings that are given to the service, and fail in every way. */

import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { embed, startSmall, until } from "../support/services.ts";

const silent = (): never => {
  throw new Error("Not even that can be read.");
};
const { proxy, revoke } = Proxy.revocable({}, {});
revoke();

const FAULTS: readonly (readonly [string, () => unknown, string])[] = [
  ["throws an error", () => fail(new Error("The log is gone")), "The log is gone"],
  ["throws a text", () => fail("gone"), "gone"],
  ["throws what cannot be read", () => fail({ toString: silent }), "cannot be read"],
  ["throws an object without a prototype", () => fail(Object.create(null)), "cannot be read"],
  ["returns a promise that rejects", () => Promise.reject(new Error("The disk is full")), "The disk is full"],
  ["returns a proxy that was revoked", () => proxy, "revoked"],
  ["is no function", "log" as never, "not a function"],
];

function fail(value: unknown): never {
  throw value;
}

/** The warnings of this test's listeners. */
function warnings(): string[] {
  const seen: string[] = [];
  const onWarning = (warning: Error & { code?: string }): void => {
    if (warning.code === "LISTENER_FAILED") seen.push(warning.message);
  };
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  return seen;
}

describe.each(FAULTS)("a listener that %s", (_how, listener, words) => {
  test("for the access log disturbs no request, and is reported once", async () => {
    const seen = warnings();
    const service = await startSmall({ onAccess: listener as never });
    for (let count = 0; count < 3; count += 1) expect((await embed(service, "grey rain")).status).toBe(200);
    await until(() => seen.length > 0);
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
    expect(seen).toEqual([expect.stringContaining("`onAccess`")]);
    expect(seen[0]).toContain(words);
  });

  test("for failures does not change the answer, and is reported once", async () => {
    const seen = warnings();
    const service = await startSmall({ onFailure: listener as never });
    const breaks = (): never => fail(new Error("The model broke."));
    Object.defineProperty(service.embedder, "embed", { value: breaks });
    for (let count = 0; count < 2; count += 1) {
      const answer = await embed(service, "grey rain");
      expect([answer.status, ((await answer.json()) as { error: { code: unknown } }).error.code]).toEqual([
        500,
        expect.anything(),
      ]);
    }
    await until(() => seen.length > 0);
    expect(seen).toEqual([expect.stringContaining("`onFailure`")]);
    expect(seen[0]).toContain(words);
  });

  test("for warnings keeps the bound on connections, and is reported once", async () => {
    const seen = warnings();
    const service = await startSmall({ onWarning: listener as never, maxConnections: 2 });
    const sockets = Array.from({ length: 5 }, () => connect(service.port, "127.0.0.1").on("error", () => {}));
    await until(() => sockets.filter(({ destroyed }) => destroyed).length === 3);
    await until(() => seen.length > 0);
    for (const socket of sockets) socket.destroy();
    expect(seen).toEqual([expect.stringContaining("`onWarning`")]);
    expect(seen[0]).toContain(words);
  });
});
