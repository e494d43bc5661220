// Named faults for tests of dispatchers.

import type { FakeFault, FakeOperation } from "./fault-types.ts";

const CREATES: readonly FakeOperation[] = [
  ...([
    "batches.create",
    "messages.create",
    "gemini.create",
    "vertex.create",
    "invocationJobs.create",
    "jobs.create",
  ] as const),
];
/**
 * Operations that read results. Gemini's come with the batch if its requests came with the create.
 */
const DOWNLOADS: readonly FakeOperation[] = [
  ...(["files.content", "messages.results", "batches.results"] as const),
  ...(["geminiFiles.content", "gemini.retrieve", "objects.get"] as const),
];

/** The names of `fakeFaults`. */
export type FakeFaultName =
  | "acceptThenDrop"
  | "rejectThenDrop"
  | "errorAfterAccept"
  | "rateLimited"
  | "quotaExhausted"
  | "creditExhausted"
  | "prepaymentExhausted"
  | "planExhausted"
  | "billingDisabled"
  | "oddRefusal"
  | "fileQuotaExceeded"
  | "cutDownload"
  | "shortDownload"
  | "emptyDownload";

/** Faults that real providers have had, ready to inject. */
export const fakeFaults: Readonly<Record<FakeFaultName, FakeFault>> = {
  /** The batch is created; the client sees a lost connection. */
  acceptThenDrop: { on: CREATES, reply: "drop" },
  /** Nothing is created; the client sees a lost connection too. */
  rejectThenDrop: { on: CREATES, accept: false, reply: "drop" },
  /** The batch is created; the client gets a server error. */
  errorAfterAccept: { on: CREATES, reply: { status: 500 } },
  /** Too many calls: nothing is created. */
  rateLimited: { on: CREATES, accept: false, reply: { status: 429, headers: { "retry-after": "30" } } },
  /** No credit, in OpenAI's words. */
  quotaExhausted: {
    on: "batches.create",
    accept: false,
    reply: {
      status: 429,
      body: {
        error: {
          message: "You exceeded your current quota.",
          type: "insufficient_quota",
          param: null,
          code: "insufficient_quota",
        },
      },
    },
  },
  /** No credit, in Anthropic's words. */
  creditExhausted: {
    on: "messages.create",
    accept: false,
    reply: {
      status: 400,
      body: {
        type: "error",
        error: {
          type: "invalid_request_error",
          message: "Your credit balance is too low to access the Anthropic API.",
        },
      },
    },
  },
  /** No credit, in Gemini's words. */
  prepaymentExhausted: {
    on: "gemini.create",
    accept: false,
    reply: {
      status: 429,
      body: {
        error: {
          code: 429,
          message: "Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.",
          status: "RESOURCE_EXHAUSTED",
        },
      },
    },
  },
  /** The plan is used up, in Mistral's words, which equal those for a wrong key. */
  planExhausted: { on: "jobs.create", accept: false, reply: { status: 401, body: { detail: "Unauthorized" } } },
  /** No credit, in Vertex AI's words. */
  billingDisabled: {
    on: "vertex.create",
    accept: false,
    reply: {
      status: 403,
      body: {
        error: {
          code: 403,
          message: "This API method requires billing to be enabled.",
          status: "PERMISSION_DENIED",
        },
      },
    },
  },
  /** A 400 unrelated to the call, at uploads and creates. */
  oddRefusal: {
    on: ["files.create", "geminiFiles.upload", ...CREATES],
    accept: false,
    reply: {
      status: 400,
      body: { error: { message: "Invalid request.", type: "invalid_request_error", param: null, code: null } },
    },
  },
  /** The limit on kept files is reached, in Azure's words. */
  fileQuotaExceeded: {
    on: "files.create",
    accept: false,
    reply: {
      status: 400,
      body: { error: { code: "quotaExceeded", message: "The number of files exceeds the quota, the maximum is 500." } },
    },
  },
  /** A download that breaks off in the middle. */
  cutDownload: { on: DOWNLOADS, reply: { cutAtBytes: 200 } },
  /** A download that ends cleanly after its first line. */
  shortDownload: { on: DOWNLOADS, reply: { endAfterLines: 1 } },
  /** A download that ends cleanly before its first line. */
  emptyDownload: { on: DOWNLOADS, reply: { endAfterLines: 0 } },
};
