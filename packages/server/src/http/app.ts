/**
 * The routes of the service, as a function from Request to Response; `service.ts` has the sockets.
 *
 * Guarantees: every answer has an `x-request-id`. Every failure has OpenAI's form. No error is
 * thrown to the caller.
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
import { guarded } from "./monitoring/listeners.ts";
import { ServiceMetrics } from "./monitoring/metrics.ts";
import { answerStats } from "./monitoring/stats-route.ts";
import { onlyAllowedHosts } from "./requests/allowed-hosts.ts";
import { exchangeOf } from "./requests/exchange.ts";
import { refuseAddresses } from "./requests/request-address.ts";
import { newRequestId } from "./requests/request-id.ts";

export interface AppOptions {
  readonly embedder: Embedder;
  /** The address on which the service listens. Unset: requests under any name are accepted. */
  readonly host?: string;
  /**
   * More names under which requests are accepted, and whose pages may send them; "*" for any name.
   */
  readonly allowHost?: readonly string[];
  /**
   * Parses large bodies. The caller closes it. Default: the app starts its own parser thread, which
   * is never ended.
   */
  readonly parser?: RequestParser;
  readonly maxBodyBytes?: number;
  /**
   * Most bytes received of unfinished bodies, over all connections; half of it for one caller.
   * Default: eight bodies of the largest size.
   */
  readonly maxUploadBytes?: number;
  /**
   * Longest time in ms without a byte of a body; after it, a body must average at least 16,000
   * bytes a second. Default 30,000.
   */
  readonly uploadStallMs?: number;
  /**
   * Most bytes of all large answers that are being read; above it, new texts are refused. Default
   * 256 MiB.
   */
  readonly maxAnswerBytes?: number;
  /** Longest time in ms in which a caller reads nothing of a large answer. Default 30,000. */
  readonly answerStallMs?: number;
  /**
   * True once the service is stopping: health checks fail, so that load balancers stop sending
   * requests.
   */
  readonly leaving?: () => boolean;
  /** True when no more texts are accepted. */
  readonly draining?: () => boolean;
  /** Number of connections closed since the start because too many were open. Default 0. */
  readonly droppedConnections?: () => number;
  /** Called with failures of the server itself, for the log. */
  readonly onFailure?: (failure: unknown) => void;
  /** Called for each request when its whole answer was sent, or its caller has left. */
  readonly onAccess?: (record: AccessRecord) => void;
}

/** Enough for 2,048 texts of 512 tokens. */
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
  const { embedder, maxBodyBytes = DEFAULT_MAX_BODY_BYTES, draining = () => false, leaving = draining } = options;
  const onFailure = guarded("onFailure", options.onFailure);
  const onAccess = guarded("onAccess", options.onAccess);
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

  // A request's own id is kept if it is short and has only plain characters.
  app.use(requestId({ generator: newRequestId }));
  app.use(
    reportEndings((context, ending) => {
      metrics.record(context, ending);
      onAccess(accessRecord(context, ending));
    }),
  );
  app.use(async (context, next) => {
    await next();
    context.header("x-request-id", context.get("requestId"));
    if (leaving()) context.header("connection", "close");
  });

  app.use(throwErrors);
  app.use(refuseAddresses);

  // Before the check of hosts, because load balancers send health checks under any name, or none.
  addHealthChecks(app, answersTexts, leaving);
  if (options.host !== undefined) app.use(onlyAllowedHosts(options.host, options.allowHost ?? []));

  app.post("/v1/embeddings", (context) => {
    if (draining()) throw shuttingDown();
    requests.add(1);
    const unread = { request: context.req.raw, exchange: exchangeOf(context) };
    return answerEmbeddings(unread, services, (work) => context.set("work", work));
  });
  app.get("/v1/models", () => listModels(embedder.model, startedAt));
  // A model's name may contain slashes.
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

/** Hono passes only errors to `onError`, but the reason of a caller's signal is a string. */
const throwErrors: MiddlewareHandler = async (_, next) => {
  try {
    await next();
  } catch (failure) {
    throw failure instanceof Error ? failure : new Error(String(failure));
  }
};

/** Must be added after the routes. */
function refuseOtherMethods(app: Hono): void {
  for (const [path, allowed] of Object.entries(METHODS)) {
    // For a folder: matches each path inside it.
    app.all(path.replace("/*", "/:name{.+}"), (context) => {
      throw wrongMethod(context.req.method, context.req.path, allowed);
    });
  }
}

/**
 * The route that matches the end of a path with a wrong start or an extra slash, as from a client
 * with a wrong base URL.
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
  onFailure: (failure: unknown) => void,
): Response {
  const { signal } = context.req.raw;
  const hasLeft = signal.aborted || exchangeOf(context).isCut;
  const error = fromFailure(failure, () => secondsUntilRoom(embedder));
  if (error.status === 500 && !(hasLeft && isCallerGone(failure, signal))) onFailure(failure);
  return hasLeft ? new Response(null, { status: CALLER_LEFT }) : error.toResponse();
}

/**
 * True if the caller has left: the failure is the signal's reason, or an error of a broken
 * connection.
 */
function isCallerGone(failure: unknown, { reason }: AbortSignal): boolean {
  if (failure === reason || !(failure instanceof Error)) return true;
  const { code } = failure as NodeJS.ErrnoException;
  return failure.name === "AbortError" || failure.message === String(reason) || DEPARTURES.has(code ?? "");
}

const DEPARTURES: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE", "ERR_STREAM_PREMATURE_CLOSE", "ABORT_ERR"]);

/** Time for the current queue at the current rate. */
function secondsUntilRoom(embedder: Embedder): number {
  const seconds = Math.ceil(embedder.batcher.stats().waiting / Math.max(1, embedder.rates().texts));
  return Math.min(MAX_RETRY_AFTER_SECONDS, Math.max(1, seconds));
}
