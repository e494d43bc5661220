// The dashboard's queries, answered by a real Prometheus that scrapes OpenTelemetry's exporter,
// with a batcher and a dispatcher on which every event has happened.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { textOf } from "../../house/repository.ts";
import { exported } from "../../otel/support/exported.ts";
import { startOwnPrometheus } from "../services/kept.ts";

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}

interface Answer {
  readonly status: string;
  readonly error?: string;
  readonly data?: { readonly result: readonly unknown[] };
}

/** Serves the text at `/metrics`; returns the port. */
async function serve(text: string): Promise<number> {
  const server = createServer((_, response) =>
    response.setHeader("content-type", "text/plain; version=0.0.4").end(text),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

function queriesOf(file: string): { readonly title: string; readonly expr: string }[] {
  const { panels } = JSON.parse(textOf(`packages/batchwise/grafana/${file}`)) as Dashboard;
  return panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));
}

/** What Grafana puts in for its variables when all batchers are chosen. */
function filledIn(expr: string): string {
  return expr.replaceAll("$__rate_interval", "5m").replaceAll("$batcher", ".*");
}

test("every query of the dashboards is one that Prometheus answers, with series where its names are exported", async () => {
  const { text } = await exported();
  const prometheus = await startOwnPrometheus(await serve(text));
  onTestFinished(() => prometheus.stop());
  const ask = async (query: string): Promise<Answer> => {
    const answer = await fetch(`http://127.0.0.1:${prometheus.port}/api/v1/query?${new URLSearchParams({ query })}`);
    return (await answer.json()) as Answer;
  };
  // A rate takes two scrapes.
  await expect
    .poll(async () => (await ask("count_over_time(batchwise_items_waiting[5m]) >= 2")).data?.result.length, {
      timeout: 60_000,
      interval: 200,
    })
    .toBeGreaterThan(0);
  const wrong: unknown[] = [];
  for (const { title, expr } of queriesOf("dashboard.json")) {
    const { status, error, data } = await ask(filledIn(expr));
    if (status !== "success" || data?.result.length === 0) wrong.push({ title, expr, error });
  }
  // By the names of other pipelines: there are no series here.
  for (const { title, expr } of queriesOf("dashboard-otlp.json")) {
    const { status, error } = await ask(filledIn(expr));
    if (status !== "success") wrong.push({ title, expr, error });
  }
  expect(wrong).toEqual([]);
  expect(queriesOf("dashboard.json").length).toBeGreaterThan(35);
});
