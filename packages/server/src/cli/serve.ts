/**
 * `batchwise serve`: starts the service, prints its address and an example, and drains on Ctrl-C.
 *
 * Guarantees: exit code 0 after a drain; a second Ctrl-C ends the process at once.
 */

import { once } from "node:events";
import { createServer } from "node:net";
import { basename, relative } from "node:path";
import { inspect } from "node:util";
import { formatAccess } from "../http/monitoring/access-log.ts";
import { isLoopback } from "../http/requests/allowed-hosts.ts";
import { type Service, type ServiceOptions, startService } from "../http/service.ts";
import { CommandError, EXIT } from "./common/failures.ts";
import { onStopSignal } from "./common/stop-signals.ts";
import { linesOf, print, warn } from "./common/terminal.ts";

export interface ServeOptions extends ServiceOptions {
  /** True if the user set the port. */
  readonly portAsked: boolean;
  /** Print one line per request, in this form. Default: none. */
  readonly accessLog?: "json" | "text";
}

export async function serve(options: ServeOptions): Promise<void> {
  const { accessLog, host = "127.0.0.1" } = options;
  // Before the model loads, which takes seconds.
  if (options.portAsked) await expectFree(options.port, host);
  const service = await startService({
    ...options,
    ...(accessLog === undefined ? {} : { onAccess: (record) => print(formatAccess(record, accessLog)) }),
    anyPortWillDo: !options.portAsked,
    onFailure: (failure) => warn(linesOf(inspect(failure))),
    onWarning: (message) => warn(`Warning: ${message}`),
  });
  if (!options.portAsked && service.port !== options.port) {
    print([`Port ${options.port} is taken; using ${service.port} instead.`, ""]);
  }
  if (!isLoopback(host)) warn([exposure(host), ""]);
  for (const warning of service.embedder.warnings) warn(`Warning: ${warning}`);
  // Before the greeting, because its reader may stop the service at once.
  const stopped = stopOnSignal(service);
  print(greeting(service));
  await stopped;
}

async function expectFree(port: number, host: string): Promise<void> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EADDRINUSE")) throw error;
    const way = "name another with --port, or leave --port out for a free one";
    throw new CommandError(`Port ${port} of ${host} is taken: ${way}.`, EXIT.failed, error);
  }
  server.close();
  await once(server, "close");
}

function exposure(host: string): string {
  return [
    `Warning: listening on ${host}, so other machines may reach this service, which checks no API keys.`,
    "It is asked under an IP address, or a name given with --allow-host.",
  ].join(" ");
}

function greeting({ url, embedder }: Service): string[] {
  const { name, dimensions, maxTokens, builtIn } = embedder.model;
  const body = JSON.stringify({ model: name, input: ["hello world", "hello there, world"] });
  const what = builtIn
    ? [
        "The built-in model is a small transformer with random weights, good for trying out batching, not for search.",
        `For real embeddings: ${command()} serve --model path/to/model.onnx --tokenizer path/to/tokenizer.json`,
      ]
    : [];
  return [
    `batchwise serves ${name} (${dimensions} dimensions, up to ${maxTokens} tokens a text) at ${url}`,
    ...what,
    "",
    "Try it:",
    `  curl ${url}/v1/embeddings -H 'content-type: application/json' -d '${body}'`,
    `Watch it: ${url}/stats`,
    "Ctrl-C answers what is running and stops.",
  ];
}

/**
 * The command that starts this program again from here. npm, which finds it in a clone, too, sets a
 * variable when it starts it.
 */
function command(): string {
  if (process.env.npm_command !== undefined) return "npx batchwise";
  const file = process.argv[1] ?? "batchwise";
  return basename(file) === "batchwise" ? "batchwise" : `node ${relative(process.cwd(), file)}`;
}

/** Resolves when the service has drained after the first signal. */
function stopOnSignal(service: Service): Promise<void> {
  return new Promise((resolve, reject) => {
    const stopListening = onStopSignal(() => {
      print(["", "Stopping: answering what is running. Press Ctrl-C again to stop at once."]);
      service.close().then(resolve, reject).finally(stopListening);
    });
  });
}
