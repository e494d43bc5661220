// A practice mail service over real HTTP: it accepts up to 200 mails per request and refuses mails
// to "nobody@…".

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Answer, Mail } from "./mail-batcher.ts";

export interface MailService {
  readonly url: string;
  /** The mails of each request, in order of arrival. */
  readonly requests: readonly (readonly Mail[])[];
  /** Receivers of the mails that it has answered. */
  readonly answered: readonly string[];
  close(): Promise<void>;
}

const MOST = 200;

/** `isHeld` may hold an answer back; it gets the number of the request, from 0. */
export async function startMailService(latencyMs: number, isHeld?: (request: number) => boolean): Promise<MailService> {
  const requests: (readonly Mail[])[] = [];
  const answered: string[] = [];
  const answerTo = ({ to }: Mail): Answer =>
    to.startsWith("nobody@") ? { error: `${to} does not exist.` } : { id: `sent-${to}` };
  const server = createServer(async (request, response) => {
    const { mails } = JSON.parse(await text(request)) as { readonly mails: readonly Mail[] };
    const count = requests.push(mails);
    await new Promise((resolve) => setTimeout(resolve, latencyMs));
    if (isHeld?.(count - 1) === true) return;
    if (mails.length > MOST) return void response.writeHead(413).end();
    answered.push(...mails.map(({ to }) => to));
    response.end(JSON.stringify({ answers: mails.map(answerTo) }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    ...{ requests, answered },
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
