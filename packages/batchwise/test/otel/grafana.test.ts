// The package's dashboard and alert rules, compared with the exported series.

import { describe, expect, test } from "vitest";
import { grafanaFiles } from "../../../../scripts/grafana/files.ts";
import { textOf } from "../house/repository.ts";
import { type Exported, exported, labelsOf } from "./support/exported.ts";

interface Query {
  readonly expr: string;
  /** Labels that a legend or a summary shows. */
  readonly shown: readonly string[];
}

const files = grafanaFiles();
const folder = "packages/batchwise/grafana/";

interface Dashboard {
  readonly templating: { readonly list: readonly { readonly definition?: string }[] };
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
}

function ofDashboard(text: string): Query[] {
  const { panels, templating } = JSON.parse(text) as Dashboard;
  const lines = panels.flatMap(({ targets }) => targets ?? []);
  const shownIn = (legend: string) => [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label);
  return [
    ...lines.map(({ expr, legendFormat }) => ({ expr, shown: shownIn(legendFormat) })),
    ...templating.list.flatMap(({ definition }) => {
      const [, expr, label] = /^label_values\((\w+), (\w+)\)$/.exec(definition ?? "") ?? [];
      return expr === undefined || label === undefined ? [] : [{ expr, shown: [label] }];
    }),
  ];
}

function ofRules(text: string): Query[] {
  const rules = text.split("- alert: ").slice(1);
  return rules.map((rule) => {
    const quoted = (field: string): string =>
      JSON.parse(new RegExp(`^ +${field}: (".*")$`, "m").exec(rule)?.[1] ?? '""') as string;
    const shown = [...quoted("summary").matchAll(/\$labels\.(\w+)/g)].map(([, label = ""]) => label);
    return { expr: quoted("expr"), shown };
  });
}

/** The metrics of an expression, each with the labels that its matchers name. */
function metricsIn(expr: string): { readonly name: string; readonly matched: readonly string[] }[] {
  const found = expr.replaceAll(/\bby \([^)]*\)/g, "").matchAll(/\b(batchwise_\w+)(?:\{([^}]*)\})?/g);
  return [...found]
    .filter(({ index, input }) => !/[{,]\s*$/.test(input.slice(0, index)))
    .map(([, name = "", matchers = ""]) => ({
      name,
      matched: [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = ""]) => label),
    }));
}

function groupedBy(expr: string): string[] {
  const lists = [...expr.matchAll(/\bby \(([^)]*)\)/g)].map(([, list = ""]) =>
    list.split(",").map((one) => one.trim()),
  );
  return lists.flat().filter((label) => label !== "le");
}

/** The mistakes of a query; empty if there are none. */
function mistakes({ expr, shown }: Query, { samples }: Exported): string[] {
  const used = metricsIn(expr);
  const base = (name: string) => name.replace(/_(bucket|sum|count)$/, "");
  const missing = used.filter(({ name }) => !samples.some((one) => one.name === name)).map(({ name }) => name);
  const labels = new Set(used.flatMap(({ name }) => labelsOf(base(name), samples)));
  const unknown = [...shown, ...groupedBy(expr), ...used.flatMap(({ matched }) => matched)].filter(
    (one) => !labels.has(one),
  );
  return [...(used.length === 0 ? ["no metric"] : []), ...missing, ...unknown.map((label) => `label ${label}`)].map(
    (mistake) => `${mistake} in ${expr}`,
  );
}

describe("the files for Grafana and Prometheus", () => {
  test.each(Object.keys(files))("%s is the output of scripts/grafana.ts", (path) => {
    expect(textOf(path)).toBe(files[path]);
  });

  test("query metrics and labels that are exported, and no others", async () => {
    const all = await exported();
    const queries = [...ofDashboard(textOf(`${folder}dashboard.json`)), ...ofRules(textOf(`${folder}alerts.yml`))];
    expect(queries.length).toBeGreaterThan(50);
    expect(queries.flatMap((query) => mistakes(query, all))).toEqual([]);
  });

  test("a mistake in an expression would be found", async () => {
    const all = await exported();
    const of = (expr: string, shown: readonly string[] = []) => mistakes({ expr, shown }, all);
    expect(of("sum(batchwise_items_waitin)")).not.toEqual([]);
    expect(of('sum(batchwise_items_waiting{batchwise_name="a"})')).not.toEqual([]);
    expect(of("sum by (batchwise_model) (batchwise_items_waiting)")).not.toEqual([]);
    expect(of("sum(batchwise_items_waiting)", ["batchwise_item_outcome"])).not.toEqual([]);
    expect(of("sum by (batchwise_batcher_name) (batchwise_items_waiting)", ["batchwise_batcher_name"])).toEqual([]);
  });

  test("the files for pipelines that add units query the same, by the exported names with their units", async () => {
    const { series } = await exported();
    const withUnit = new Map(
      series.map(({ name, type, unit }) => {
        const ofGauge = unit === "1" && type === "gauge" ? "_ratio" : "";
        const suffix = unit === "s" ? "_seconds" : unit === "{item}/s" ? "_per_second" : ofGauge;
        return [name, name.replace(/(_total)?$/, (total) => suffix + total)];
      }),
    );
    const ending = /_(bucket|sum|count)$/;
    const renamed = (name: string) => `${withUnit.get(name.replace(ending, ""))}${ending.exec(name)?.[0] ?? ""}`;
    const names = (queries: readonly Query[]) => queries.flatMap(({ expr }) => metricsIn(expr)).map(({ name }) => name);
    const pairs = [
      [ofDashboard(textOf(`${folder}dashboard.json`)), ofDashboard(textOf(`${folder}dashboard-otlp.json`))],
      [ofRules(textOf(`${folder}alerts.yml`)), ofRules(textOf(`${folder}alerts-otlp.yml`))],
    ] as const;
    for (const [plain, otlp] of pairs)
      expect(names(otlp)).toEqual(
        names(plain).map((name) =>
          series.some((one) => one.name === name) || series.some((one) => one.name === name.replace(ending, ""))
            ? renamed(name)
            : "missing",
        ),
      );
    expect(names(pairs[1][1])).toContain("batchwise_dispatch_lane_age_seconds");
  });
});
