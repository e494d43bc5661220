// The alert rules, tested by Prometheus' own tool: each fires when it should, with its text, and
// not otherwise.

import { rmSync, writeFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { withUnits } from "../../../../../scripts/grafana/names.ts";
import { root, scratchFolder, textOf } from "../../house/repository.ts";
import { promtool } from "../services/kept.ts";
import type { ToolAnswer } from "../services/prometheus.ts";
import { type AlertCase, alertCases, DAY } from "./alert-cases.ts";

const files = ["alerts.yml", "alerts-otlp.yml"].map((name) => `packages/batchwise/grafana/${name}`);

type Values = Readonly<Record<string, string>>;

function minutesOf(values: string): number {
  return values.split(" ").reduce((sum, part) => sum + 1 + Number(/x(\d+)$/.exec(part)?.[1] ?? 0), 0);
}

/**
 * A test of promtool: at each of these minutes this alert fires, with these labels and texts, or
 * does not.
 */
function testOf(alert: string, series: Values, minutes: readonly number[], expected: readonly object[]): object {
  return {
    interval: "1m",
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: minutes.map((at) => ({ eval_time: `${at}m`, alertname: alert, exp_alerts: expected })),
  };
}

/** Every ten minutes of the series, so that an alert that comes and goes is seen. */
function tens(series: Values): number[] {
  const end = Math.max(0, ...Object.values(series).map(minutesOf)) - 1;
  return Array.from({ length: Math.floor(end / 10) }, (_, index) => 10 * (index + 1));
}

function testsOf({ alert, labels, summary, fires, firesToo, at, silent }: AlertCase): object[] {
  const firing = [{ exp_labels: labels, exp_annotations: { summary } }];
  return [
    testOf(alert, fires, [at], firing),
    ...(firesToo === undefined ? [] : [testOf(alert, firesToo, [at], firing)]),
    ...silent.map((series) => testOf(alert, series, [...new Set([at, ...tens(series)])], [])),
  ];
}

function secondDayOf({ alert, silentAfterDay }: AlertCase): object[] {
  if (silentAfterDay === undefined) return [];
  const minutes = tens(silentAfterDay).filter((minute) => minute >= DAY);
  return [testOf(alert, silentAfterDay, minutes, [])];
}

/** Runs tests of promtool against a file of rules, which are evaluated every so many minutes. */
async function run(rules: string, everyMinutes: number, tests: readonly object[]): Promise<ToolAnswer> {
  const folder = scratchFolder("alerts");
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const text = JSON.stringify({ rule_files: [rules], evaluation_interval: `${everyMinutes}m`, tests });
  writeFileSync(`${folder}tests.json`, rules.includes("-otlp") ? withUnits(text) : text);
  return promtool("test", "rules", `${folder}tests.json`);
}

test.each(files)("%s is right by `promtool check rules`, and has a case for each rule", async (file) => {
  const alerts = [...textOf(file).matchAll(/^ +- alert: (?<name>\w+)$/gm)].map(({ groups }) => groups?.name);
  expect(await promtool("check", "rules", root + file)).toEqual({
    status: 0,
    output: expect.stringContaining(`SUCCESS: ${alerts.length} rules found`),
  });
  expect(alerts).toEqual(alertCases.map(({ alert }) => alert));
});

test.each(files)("every alert of %s fires when it should, with its text, and is silent otherwise", async (file) => {
  const first = await run(root + file, 1, alertCases.flatMap(testsOf));
  expect(first.status, first.output).toBe(0);
  const later = await run(root + file, 10, alertCases.flatMap(secondDayOf));
  expect(later.status, later.output).toBe(0);
});

test("an alert that does not fire, or fires when it should not, would be found", async () => {
  const [first, second] = alertCases as readonly [AlertCase, AlertCase];
  const rules = `${root}packages/batchwise/grafana/alerts.yml`;
  const never = [{ ...first, fires: first.silent[0] as Values }];
  const always = [{ ...second, silent: [second.fires] }];
  expect((await run(rules, 1, never.flatMap(testsOf))).status).toBe(1);
  expect((await run(rules, 1, always.flatMap(testsOf))).status).toBe(1);
});
