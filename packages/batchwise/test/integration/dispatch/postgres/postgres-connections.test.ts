// Connections that a busy process must not keep. One that the server ends in the same breath in
// which it is made, as a restarting PostgreSQL does: a socket that speaks just enough of the
// protocol. And those of a server that is read-only.

import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { postgresStore } from "batchwise/dispatch/postgres";
import { expect, onTestFinished, test } from "vitest";
import { NOW, requests } from "../../../dispatch/stores/sqlite/folder.ts";
import { postgresPlace } from "../../services/kept.ts";
import { poolAt, query } from "../../services/postgres.ts";

function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
}

const WELCOME_AND_END = Buffer.concat([
  message("R", Buffer.alloc(4)),
  message("Z", Buffer.from("I")),
  message("E", Buffer.from("SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0")),
]);

test("a connection that ends as soon as it is made fails its call and not the process", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(WELCOME_AND_END));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const pool = poolAt({ host: "127.0.0.1", port, user: "u", database: "d" });
  const store = postgresStore({ pool });
  await expect(store.probe(1, NOW)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", retryable: true });
  await store.close();
  await pool.end();
  server.close();
});

const SESSIONS = 5;

test("after a failover no connection to the read-only server is used again for a write", async () => {
  const place = await postgresPlace();
  const user = `${place.application_name}_failover`;
  const admin = poolAt(place);
  const pool = poolAt({ ...place, user, max: SESSIONS });
  onTestFinished(async () => {
    await pool.end();
    await admin.end();
  });
  await postgresStore({ pool: admin }).probe(1, NOW);
  // Sessions keep what their role had at their login: those made before and after the change are as
  // those of two servers.
  await query(place, `CREATE ROLE ${user} LOGIN SUPERUSER; ALTER ROLE ${user} SET default_transaction_read_only = on`);
  const store = postgresStore({ pool });
  await Promise.all(Array.from({ length: SESSIONS * 4 }, () => store.probe(1, NOW)));
  expect(pool.totalCount).toBe(SESSIONS);
  await query(place, `ALTER ROLE ${user} SET default_transaction_read_only = off`);

  const refusals: unknown[] = [];
  const enqueue = (name: string) =>
    store.enqueue(requests(1, name), NOW).catch((error: unknown) => refusals.push(error));
  for (let n = 0; n < SESSIONS * 4; n += 1) await enqueue(`r${n}-`);
  expect(refusals.length).toBeGreaterThan(0);
  expect(refusals.length).toBeLessThanOrEqual(SESSIONS);
  for (const refusal of refusals) expect(refusal).toMatchObject({ code: "STORE_READ_ONLY", retryable: true });
  expect((await store.probe(100, NOW)).lanes[0]?.ready).toBe(SESSIONS * 4 - refusals.length);
  await store.close();
});

test("times come back whole where the role's sessions shorten numbers", async () => {
  const place = await postgresPlace();
  const pool = poolAt({ ...place, options: `${place.options} -c extra_float_digits=-3` });
  onTestFinished(() => pool.end());
  const store = postgresStore({ pool });
  const at = NOW + 123_457;
  await store.enqueue(requests(1, "r"), at);
  expect((await store.probe(1, at)).lanes[0]?.oldestAt).toBe(at);
  await store.close();
});
