// Reads and writes the XML of S3 that the fake needs.

import type { Refusal, Reply } from "../exchange.ts";

const HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n';
const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** An element; `content` is text, or elements already written. */
export function tag(name: string, content: string | readonly string[]): string {
  const inner =
    typeof content === "string" ? content.replace(/[&<>"]/g, (sign) => ESCAPES[sign] as string) : content.join("");
  return `<${name}>${inner}</${name}>`;
}

export function xmlReply(element: string, status = 200, headers: Readonly<Record<string, string>> = {}): Reply {
  const body = new TextEncoder().encode(HEAD + element);
  return { status, headers: { "content-type": "application/xml", ...headers }, body, cutAt: null };
}

/** A refusal in S3's format. Scripted ones get S3's code for their status. */
export function errorReply({ status, code, message, headers }: Refusal): Reply {
  const known = code === "scripted" || code === "rate_limit_exceeded" ? (CODES[status] ?? "InternalError") : code;
  return xmlReply(tag("Error", [tag("Code", known), tag("Message", message)]), status, headers);
}

const CODES: Readonly<Record<number, string>> = {
  400: "InvalidRequest",
  401: "InvalidAccessKeyId",
  403: "AccessDenied",
  404: "NoSuchKey",
  429: "SlowDown",
  500: "InternalError",
  501: "NotImplemented",
  503: "SlowDown",
};

/** The parts that a completed upload lists, in order. */
export function partsOf(text: string): { readonly number: number; readonly etag: string }[] {
  return [...text.matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, part = ""]) => ({
    number: Number(/<PartNumber>(\d+)<\/PartNumber>/.exec(part)?.[1]),
    etag: (/<ETag>(.*?)<\/ETag>/.exec(part)?.[1] ?? "").replaceAll("&quot;", '"'),
  }));
}

export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
