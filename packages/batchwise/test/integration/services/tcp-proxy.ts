// Forwards connections to a port of this machine, as HAProxy does in front of servers. Existing
// connections stay where they are; if a server does not answer, its connection is ended.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface TcpProxy {
  readonly port: number;
  /** New connections go to this port. */
  lead(port: number): void;
  close(): Promise<void>;
}

export async function startTcpProxy(first: number): Promise<TcpProxy> {
  let target = first;
  const sockets = new Set<Socket>();
  const server = createServer((caller) => {
    const callee = connect(target, "127.0.0.1");
    const pair = [caller, callee];
    for (const socket of pair) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        for (const each of pair) each.destroy();
      });
    }
    caller.pipe(callee).pipe(caller);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    lead: (port) => {
      target = port;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
