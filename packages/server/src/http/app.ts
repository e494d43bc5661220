/**
 * The routes of the service, as a function from Request to Response; sockets are `service.ts`.
 *
 * Guarantees: every answer has an `x-request-id`; every failure has OpenAI's shape; nothing thrown
 * escapes.
 */

import { type Context, Hono, type MiddlewareHandler } from "hono";
import { requestId } from "hono/request-id";
import type { Embedder } from "../models/embedder.ts";
import { RateMeter } from "../models/rate-meter.ts";
import { answerEmbeddings } from "./embeddings/embeddings-route.ts";
import { RequestParser } from "./embeddings/request-parser.ts";
import { fromFailure, shuttingDown, unknownRoute, wrongMethod } from "./errors.ts";
import { LargeAnswers } from "./large-bodies/large-answers.ts";
import { Uploads } from "./large-bodies/uploads.ts";
import { listModels, retrieveModel } from "./models-route.ts";
import { type AccessRecord, accessRecord } from "./monitoring/access-log.ts";
import { CALLER_LEFT, reportEndings } from "./monitoring/endings.ts";
import { ServiceMetrics } from "./monitoring/metrics.ts";
import { answerStats } from "./monitoring/stats-route.ts";
import { onlyAllowedHosts } from "./requests/allowed-hosts.ts";
import { exchangeOf } from "./requests/exchange.ts";
import { refuseAddresses } from "./requests/request-address.ts";
import { newRequestId } from "./requests/request-id.ts";

export interface AppOptions {
  readonly embedder: Embedder;
  /** The address that the service listens on; unset: requests under any name are taken. */
  readonly host?: string;
  /**
   * Other names under which requests are taken, and whose pages may send them; "*" for requests
   * under any name.
   */
  readonly allowHost?: readonly string[];
  /**
   * Parses large bodies. The caller closes it. Default: the app starts its own parser thread, which
   * never ends.
   */
  readonly parser?: RequestParser;
  readonly maxBodyBytes?: number;
  /**
   * Most that has come of the bodies of all connections together; half of it of one caller's.
   * Default: eight of the largest.
   */
  readonly maxUploadBytes?: number;
  /**
   * The longest time without a byte of a body; after it a body comes with at least 16,000 bytes a
   * second. Default 30,000.
   */
  readonly uploadStallMs?: number;
  /**
   * Most that large answers which are being read have together, before more texts are refused.
   * Default 256 MiB.
   */
  readonly maxAnswerBytes?: number;
  /** The longest time in which a caller takes nothing of a large answer. Default 30,000. */
  readonly answerStallMs?: number;
  /**
   * True from the moment the service was told to stop: health checks fail, so that load balancers
   * go elsewhere.
   */
  readonly leaving?: () => boolean;
  /** True from the moment no more texts are taken. */
  readonly draining?: () => boolean;
  /**
   * Connections that the socket has closed because too many were open, since the start. Default 0.
   */
  readonly droppedConnections?: () => number;
  /** Told of failures that are the server's own, for the log. */
  readonly onFailure?: (failure: unknown) => void;
  /** Called for each request once all of its answer was sent, or its caller has left. */
  readonly onAccess?: (record: AccessRecord) => void;
}

/** Room for 2,048 texts of 512 tokens. */
const DEFAULT_MAX_BODY_BYTES = 8 * 1024 * 1024;

const DEFAULT_UPLOADS = 8;
const DEFAULT_MAX_ANSWER_BYTES = 256 * 1024 * 1024;
const DEFAULT_STALL_MS = 30_000;

const MAX_RETRY_AFTER_SECONDS = 30;

const METHODS: Readonly<Record<string, string>> = {
  "/v1/embeddings": "POST",
  "/v1/models": "GET",
  "/v1/models/*": "GET",
  "/stats": "GET",
  "/metrics": "GET",
  "/healthz": "GET",
  "/readyz": "GET",
};

export function createApp(options: AppOptions): Hono {
  const {
    embedder,
    maxBodyBytes = DEFAULT_MAX_BODY_BYTES,
    draining = () => false,
    leaving = draining,
    onFailure,
  } = options;
  const services = {
    parser: options.parser ?? new RequestParser(embedder.model),
    embedder,
    bodyLimits: { maxBytes: maxBodyBytes, stallMs: options.uploadStallMs ?? DEFAULT_STALL_MS },
    answers: new LargeAnswers(
      options.maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES,
      options.answerStallMs ?? DEFAULT_STALL_MS,
    ),
    // One body of the largest size always fits.
    uploads: new Uploads(
      Math.max(maxBodyBytes, options.maxUploadBytes ?? DEFAULT_UPLOADS * maxBodyBytes),
      maxBodyBytes,
    ),
  };
  const requests = new RateMeter();
  const startedAt = new Date();
  const answersTexts = (): boolean => embedder.ready && services.answers.hasRoom;
  const { droppedConnections = () => 0 } = options;
  const metrics = new ServiceMetrics(embedder, Object.keys(METHODS), { answersTexts, droppedConnections });
  const app = new Hono();

  // An id that comes with the request is kept where it is short and has no odd characters.
  app.use(requestId({ generator: newRequestId }));
  app.use(
    reportEndings((context, ending) => {
      metrics.record(context, ending);
      options.onAccess?.(accessRecord(context, ending));
    }),
  );
  app.use(async (context, next) => {
    await next();
    context.header("x-request-id", context.get("requestId"));
    if (leaving()) context.header("connection", "close");
  });

  app.use(throwErrors);
  app.use(refuseAddresses);

  // Before the check of hosts: load balancers ask for their health checks under any name, or none.
  addHealthChecks(app, answersTexts, leaving);
  if (options.host !== undefined) app.use(onlyAllowedHosts(options.host, options.allowHost ?? []));

  app.post("/v1/embeddings", (context) => {
    if (draining()) throw shuttingDown();
    requests.add(1);
    const unread = { request: context.req.raw, exchange: exchangeOf(context) };
    return answerEmbeddings(unread, services, (work) => context.set("work", work));
  });
  app.get("/v1/models", () => listModels(embedder.model, startedAt));
  // A model's name may hold slashes.
  app.get("/v1/models/:id{.+}", (context) => retrieveModel(context.req.param("id"), embedder.model, startedAt));
  app.get("/stats", (context) => answerStats(context.req.raw, { embedder, requests, startedAt }));
  app.get("/metrics", () => metrics.answer());
  app.get("/", (context) => context.redirect("/stats"));

  refuseOtherMethods(app);
  app.notFound((context) =>
    unknownRoute(context.req.method, context.req.path, routeLike(context.req.path)).toResponse(),
  );
  app.onError((failure, context) => answerFailure(failure, context, embedder, onFailure));
  return app;
}

function addHealthChecks(app: Hono, answersTexts: () => boolean, leaving: () => boolean): void {
  app.get("/healthz", () =>
    leaving() ? Response.json({ status: "stopping" }, { status: 503 }) : Response.json({ status: "ok" }),
  );
  app.get("/readyz", () => {
    const ready = answersTexts() && !leaving();
    return Response.json({ status: ready ? "ready" : "not ready" }, { status: ready ? 200 : 503 });
  });
}

/**
 * Hono hands only errors to `onError`. The signal of a caller who has left has a text as its
 * reason.
 */
const throwErrors: MiddlewareHandler = async (_, next) => {
  try {
    await next();
  } catch (failure) {
    throw failure instanceof Error ? failure : new Error(String(failure));
  }
};

/** Comes after the routes. */
function refuseOtherMethods(app: Hono): void {
  for (const [path, allowed] of Object.entries(METHODS)) {
    // Of a folder, the paths that have a name in it.
    app.all(path.replace("/*", "/:name{.+}"), (context) => {
      throw wrongMethod(context.req.method, context.req.path, allowed);
    });
  }
}

/**
 * The route that a path with a wrong beginning or a slash too many ends like, as of a client with a
 * wrong base URL.
 */
function routeLike(path: string): string | undefined {
  const segments = path.split("/").filter((segment) => segment !== "");
  const last = segments.at(-1);
  if (segments.at(-2) === "models") return `/v1/models/${last}`;
  return Object.keys(METHODS).find((route) => route.split("/").at(-1) === last);
}

function answerFailure(
  failure: unknown,
  context: Context,
  embedder: Embedder,
  onFailure: AppOptions["onFailure"],
): Response {
  const { signal } = context.req.raw;
  const hasLeft = signal.aborted || exchangeOf(context).isCut;
  const error = fromFailure(failure, () => secondsUntilRoom(embedder));
  if (error.status === 500 && !(hasLeft && isDeparture(failure, signal))) onFailure?.(failure);
  return hasLeft ? new Response(null, { status: CALLER_LEFT }) : error.toResponse();
}

/**
 * Whether the failure is that the caller has left: the signal's reason, or one of a connection that
 * broke.
 */
function isDeparture(failure: unknown, { reason }: AbortSignal): boolean {
  if (failure === reason || !(failure instanceof Error)) return true;
  const { code } = failure as NodeJS.ErrnoException;
  return failure.name === "AbortError" || failure.message === String(reason) || DEPARTURES.has(code ?? "");
}

const DEPARTURES: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE", "ERR_STREAM_PREMATURE_CLOSE", "ABORT_ERR"]);

/** How long the queue of now takes at the pace of now. */
function secondsUntilRoom(embedder: Embedder): number {
  const seconds = Math.ceil(embedder.batcher.stats().waiting / Math.max(1, embedder.rates().texts));
  return Math.min(MAX_RETRY_AFTER_SECONDS, Math.max(1, seconds));
}
