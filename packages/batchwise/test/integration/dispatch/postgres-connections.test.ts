// A server that ends a connection in the same breath in which it is made: what a restarting PostgreSQL, or one whose
// operator cuts connections, does to a busy process. A socket that speaks just enough of the protocol.

import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { postgresStore } from "batchwise/dispatch/postgres";
import { expect, test } from "vitest";
import { NOW } from "../../dispatch/stores/sqlite/folder.ts";
import { poolAt } from "../services/postgres.ts";

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
