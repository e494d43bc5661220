// One HTTP exchange, over a real socket or an in-process fetch.

import type { Json } from "../../dispatch/contract/types.ts";

export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Bytes of the body after which the connection is closed; null: all are sent. */
  readonly cutAt: number | null;
}

/** Returned in place of a reply: the connection is closed without one. */
export const DROPPED: unique symbol = Symbol("dropped");

export type Handler = (exchange: Exchange) => Promise<Reply | typeof DROPPED>;

const encoder = new TextEncoder();

export function jsonReply(body: Json, status = 200, headers: Readonly<Record<string, string>> = {}): Reply {
  return {
    status,
    headers: { "content-type": "application/json", ...headers },
    body: encoder.encode(JSON.stringify(body)),
    cutAt: null,
  };
}

export function bytesReply(body: Uint8Array, contentType: string): Reply {
  return { status: 200, headers: { "content-type": contentType }, body, cutAt: null };
}

/** Thrown by routes; each surface writes it in its own error format. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly param: string | null;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: string, message: string, details: RefusalDetails = {}) {
    super(message);
    this.name = "Refusal";
    this.status = status;
    this.code = code;
    this.param = details.param ?? null;
    this.headers = details.headers ?? {};
  }
}

interface RefusalDetails {
  readonly param?: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}
