// A request handler for Amazon's clients without a socket, which works under a virtual clock.

import { Readable } from "node:stream";
import type { BedrockClientConfig } from "@aws-sdk/client-bedrock";
import type { Fetch } from "batchwise/dispatch/testing";

type Handler = NonNullable<BedrockClientConfig["requestHandler"]>;

/** The fields of a client's request that are used. */
interface Sent {
  readonly method: string;
  readonly hostname: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly string[] | null>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

export interface InProcess {
  handler(fetch: Fetch): Handler;
  /** Number of open calls. */
  readonly open: number;
}

export function inProcess(): InProcess {
  let open = 0;
  const ask = async (fetch: Fetch, sent: Sent, signal: AbortSignal | null) => {
    open += 1;
    try {
      const { method, headers, body = null } = sent;
      const answer = await fetch(urlOf(sent), { method, headers, signal, body });
      // Read at once: the fakes' answers are complete, and a cut one fails here.
      const bytes = Buffer.from(await answer.arrayBuffer());
      return { statusCode: answer.status, headers: Object.fromEntries(answer.headers), body: Readable.from([bytes]) };
    } finally {
      open -= 1;
    }
  };
  const handler = (fetch: Fetch) => ({
    async handle(sent: Sent, { abortSignal = null }: { readonly abortSignal?: AbortSignal | null } = {}) {
      return { response: await ask(fetch, sent, abortSignal) };
    },
    updateHttpClientConfig: () => {},
    httpHandlerConfigs: () => ({}),
  });
  return {
    handler: (fetch) => handler(fetch) as unknown as Handler,
    get open() {
      return open;
    },
  };
}

function urlOf({ hostname, path, query = {} }: Sent): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value ?? ""].flat()) search.append(name, one);
  }
  return `http://${hostname}${path}?${search}`;
}
