// What a row of the table of faults says.

import type { FakePlan } from "batchwise/dispatch/testing";
import type { Family } from "./families.ts";
import type { Output, Site } from "./site.ts";

export const MINUTE = 60_000;
export const HOUR: number = 60 * MINUTE;

export interface Fault {
  readonly name: string;
  /** Of one provider only. */
  readonly only?: "bedrock" | "vertex";
  /** Of the first job. */
  readonly plan?: Partial<FakePlan>;
  /** What the first job writes in place of its results. */
  output?(family: Family): Output;
  /** Puts the fault into calls to come, before anything is sent. */
  strike?(site: Site): void;
  /** So long after it has written, the right results are there. */
  readonly overAfterMs?: number;
  /** What `onError` says of it. Without it, nothing that matters to anybody has happened. */
  readonly told?: RegExp;
  /**
   * `aside`: a person has to decide, and until then nothing is sent again. Default: all requests
   * succeed.
   */
  readonly ends?: "succeeded" | "aside";
  /** The most times that a request may run, and be charged. Default 1. */
  readonly runs?: number;
  /** It takes hundreds of steps: only with the stores that are in the process. */
  readonly isLong?: boolean;
  /** Jobs that it may take. Default 1. */
  readonly jobs?: number;
}

/** Where calls go, by provider: a fault of the storage is one of S3 or of Cloud Storage. */
export const PUTS = ["objects.put", "uploads.create"] as const;

/** An HTML page, as proxies and portals send it. */
export const PAGE =
  "<!doctype html><html><head><title>Sign in</title></head><body><p>Please sign in.</p></body></html>";
