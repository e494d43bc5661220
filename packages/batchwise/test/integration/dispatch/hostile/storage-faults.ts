// Faults of the storage that jobs read from and write to.

import type { FakeFault } from "batchwise/dispatch/testing";
import { type Fault, MINUTE, PAGE, PUTS } from "./fault.ts";
import type { Site } from "./site.ts";

/** An error as S3 writes it, or as Cloud Storage does. */
function refusal({ family }: Site, status: number, s3Code: string, message: string): FakeFault["reply"] {
  if (family.service.name === "vertex") {
    const reason = s3Code;
    return { status, body: { error: { code: status, message, errors: [{ message, domain: "global", reason }] } } };
  }
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${s3Code}</Code><Message>${message}</Message></Error>`;
  return { status, text, headers: { "content-type": "application/xml" } };
}

type Made = readonly [status: number, code: string, message: string];

const LONG = 40 * MINUTE;

/** Calls of one kind are refused for a while. */
const refused = (on: FakeFault["on"], ms: number, ...made: Made) => {
  return (site: Site): void =>
    site.storage.inject({ on, accept: false, until: site.time.now() + ms, reply: refusal(site, ...made) ?? "drop" });
};

const DENIED = [403, "AccessDenied", "Access Denied to everybody."] as const;
const SLOW = [503, "SlowDown", "Please reduce your request rate."] as const;
const EXPIRED = [400, "ExpiredToken", "The provided token has expired."] as const;
const MOVED = [301, "PermanentRedirect", "The bucket must be addressed elsewhere."] as const;
const REGION = [400, "AuthorizationHeaderMalformed", "The region is wrong; expecting eu-west-1"] as const;

/** An answer with a 200 that contains an error. */
const okError = (site: Site): FakeFault["reply"] => {
  const { reply } = { reply: refusal(site, 200, "InternalError", "We encountered an internal error.") };
  return reply ?? "drop";
};

export const STORAGE_FAULTS: readonly Fault[] = [
  { name: "takes no upload for forty minutes: 403", strike: refused(PUTS, LONG, ...DENIED), told: /Access Denied/ },
  {
    name: "shows no list for forty minutes: 403",
    strike: refused("objects.list", LONG, ...DENIED),
    told: /Access Denied/,
  },
  {
    name: "gives no object for forty minutes: 403",
    strike: refused("objects.get", LONG, ...DENIED),
    told: /Access Denied/,
  },
  { name: "asks to slow down for forty minutes at uploads", strike: refused(PUTS, LONG, ...SLOW), told: /reduce/ },
  {
    name: "asks to slow down for forty minutes at lists",
    strike: refused("objects.list", LONG, ...SLOW),
    told: /reduce/,
  },
  {
    name: "asks to slow down for forty minutes at downloads",
    strike: refused("objects.get", LONG, ...SLOW),
    told: /reduce/,
  },
  {
    name: "finds credentials expired for forty minutes at uploads",
    only: "bedrock",
    strike: refused(PUTS, LONG, ...EXPIRED),
    told: /token has expired/,
  },
  {
    name: "finds credentials expired for forty minutes at downloads",
    only: "bedrock",
    strike: refused("objects.get", LONG, ...EXPIRED),
    told: /token has expired/,
  },
  {
    name: "is in another region for forty minutes",
    only: "bedrock",
    strike: refused(PUTS, LONG, ...REGION),
    told: /region is wrong/,
  },
  { name: "redirects for forty minutes", only: "bedrock", strike: refused(PUTS, LONG, ...MOVED), told: /elsewhere/ },
  {
    name: "does not find for forty minutes what was written",
    strike: refused("objects.get", LONG, 404, "NoSuchKey", "The specified key does not exist."),
    told: /no object/,
  },
  {
    name: "lists nothing for forty minutes",
    strike({ family, storage, time }) {
      const edit = (body: string): string =>
        family.service.name === "bedrock"
          ? body.replace(/<Contents>.*<\/Contents>/s, "")
          : '{"kind":"storage#objects"}';
      storage.inject({ on: "objects.list", until: time.now() + LONG, reply: { edit } });
    },
    told: /results/,
  },
  {
    name: "gives the same page of a list again and again, for forty minutes",
    strike({ family, storage, time }) {
      const token = "QQ";
      const edit = (body: string): string =>
        family.service.name === "bedrock"
          ? body
              .replace(/<NextContinuationToken>.*<\/NextContinuationToken>/s, "")
              .replace("<Contents>", `<NextContinuationToken>${token}</NextContinuationToken><Contents>`)
          : JSON.stringify({ ...JSON.parse(body), nextPageToken: token });
      storage.inject({ on: "objects.list", until: time.now() + LONG, reply: { edit } });
    },
    told: /page/,
  },
  {
    name: "cuts downloads without an error",
    strike: ({ storage }) =>
      storage.inject({ on: "objects.get", times: 3, reply: { edit: (body) => body.slice(0, 700) } }),
    told: /./,
  },
  {
    name: "drops connections of uploads that it took",
    strike: ({ storage }) => storage.inject({ on: PUTS, times: 2, reply: "drop" }),
    told: /./,
  },
  {
    name: "drops connections of downloads",
    // The client of Cloud Storage tells of none: `timeoutMs` ends the wait, in real time
    // (storageConformance has that).
    only: "bedrock",
    strike: ({ storage }) => storage.inject({ on: "objects.get", times: 2, reply: { cutAtBytes: 500 } }),
    told: /./,
  },
  {
    name: "answers uploads with a page and a 200, and keeps nothing",
    strike: ({ storage }) => storage.inject({ on: PUTS, times: 2, accept: false, reply: { status: 200, text: PAGE } }),
    told: /./,
  },
  {
    name: "answers uploads with an error and a 200, and keeps nothing",
    strike: (site) => site.storage.inject({ on: PUTS, times: 2, accept: false, reply: okError(site) ?? "drop" }),
    told: /./,
  },
  {
    name: "answers lists with a page and a 200, for forty minutes",
    strike: ({ storage, time }) =>
      storage.inject({
        on: "objects.list",
        until: time.now() + LONG,
        accept: false,
        reply: { status: 200, text: PAGE },
      }),
    told: /./,
  },
  {
    name: "answers lists with an error and a 200, for forty minutes",
    strike: (site) =>
      site.storage.inject({
        on: "objects.list",
        until: site.time.now() + LONG,
        accept: false,
        reply: okError(site) ?? "drop",
      }),
    told: /./,
  },
  {
    name: "answers downloads with a page and a 200, for forty minutes",
    strike: ({ storage, time }) =>
      storage.inject({
        on: "objects.get",
        until: time.now() + LONG,
        accept: false,
        reply: { status: 200, text: PAGE },
      }),
    told: /./,
  },
  {
    name: "answers downloads with an error and a 200, for forty minutes",
    strike: (site) =>
      site.storage.inject({
        on: "objects.get",
        until: site.time.now() + LONG,
        accept: false,
        reply: okError(site) ?? "drop",
      }),
    told: /./,
  },
];
