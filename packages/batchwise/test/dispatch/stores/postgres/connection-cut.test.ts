import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { read, write } from "../../../../src/dispatch/stores/postgres/database.ts";

/** A pool whose driver reads in one piece that a connection is ready and that it was cut. */
function poolThatIsCut() {
  const client = Object.assign(new EventEmitter(), {
    destroyed: [] as (boolean | undefined)[],
    query: () => Promise.reject(new Error("Client has encountered a connection error and is not queryable")),
    release: (destroy?: boolean) => client.destroyed.push(destroy),
  });
  return {
    client,
    connect: (done: (error: undefined, given: typeof client) => void) => {
      done(undefined, client);
      client.emit("error", new Error("terminating connection due to administrator command"));
    },
  };
}

test.each([
  ["write", write],
  ["read", read],
] as const)(
  "a %s whose connection is cut as it is handed out fails by itself, and the pool gets a broken one back",
  async (_name, work) => {
    const pool = poolThatIsCut();
    await expect(work({ pool, schema: null }, async () => "done")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(pool.client.destroyed).toEqual([true]);
    expect(pool.client.listenerCount("error")).toBe(0);
  },
);

test("a pool that has no connection to give fails the call", async () => {
  const pool = {
    connect: (done: (error: Error, client: undefined) => void) => done(new Error("connect ECONNREFUSED"), undefined),
  };
  await expect(write({ pool, schema: null }, async () => "done")).rejects.toMatchObject({
    code: "STORE_UNAVAILABLE",
    message: expect.stringContaining("connect ECONNREFUSED"),
  });
});
