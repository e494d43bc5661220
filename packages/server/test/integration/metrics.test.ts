// The service's metrics as Prometheus reads them over HTTP.

import OpenAI from "openai";
import { expect, test } from "vitest";
import { embed, startSmall } from "../support/services.ts";

/** The values of all series, by name and labels as they stand in the text. */
async function scrape(url: string): Promise<Map<string, number>> {
  const answer = await fetch(`${url}/metrics`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toContain("text/plain; version=0.0.4");
  const lines = (await answer.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]));
}

test("/metrics has the batcher's series, and those of requests, texts and tokens", async () => {
  const service = await startSmall({ modelName: "small" });
  const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: "any" });
  const { usage } = await client.embeddings.create({ model: "small", input: ["grey rain", "piano"] });
  await embed(service, "grey rain", { "content-type": "text/csv" });
  await fetch(`${service.url}/no/such/path`);

  const of = await scrape(service.url);
  const small = 'batchwise_batcher_name="small"';
  expect(of.get(`batchwise_items_settled_total{${small},batchwise_item_outcome="completed"}`)).toBe(2);
  expect(of.get(`batchwise_batch_size_sum{${small}}`)).toBe(2);
  expect(of.get(`batchwise_items_waiting{${small}}`)).toBe(0);
  expect(of.get(`batchwise_queue_limit{${small}}`)).toBe(10_000);
  expect(of.get(`batchwise_batch_cost_limit{${small}}`)).toBeGreaterThan(0);
  expect(of.get("batchwise_server_texts_total")).toBe(2);
  expect(of.get("batchwise_server_tokens_total")).toBe(usage.total_tokens);
  expect(of.get("batchwise_server_ready")).toBe(1);
  expect(of.get("batchwise_server_restarts_total")).toBe(0);
  const requests = (method: string, status: number, route = ',http_route="/v1/embeddings"') =>
    of.get(
      `http_server_request_duration_count{http_request_method="${method}",http_response_status_code="${status}"${route}}`,
    );
  expect([requests("POST", 200), requests("POST", 415), requests("GET", 404, "")]).toEqual([1, 1, 1]);
  expect([...of.keys()].filter((series) => series.includes("no/such"))).toEqual([]);
});

test("/metrics is for GET, and counts the requests for itself", async () => {
  const service = await startSmall();
  expect((await fetch(`${service.url}/metrics`, { method: "POST" })).status).toBe(405);
  await scrape(service.url);
  const series = 'http_request_method="GET",http_response_status_code="200",http_route="/metrics"';
  expect((await scrape(service.url)).get(`http_server_request_duration_count{${series}}`)).toBe(1);
});
