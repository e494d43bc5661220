// Table: when a lane pauses for bad lines, how long, and how the pause ends.

import { describe, expect, test } from "vitest";
import {
  afterAcceptance,
  afterFault,
  formerRows,
  healthMark,
  healthOf,
  healthsOf,
  healthValue,
  isKeptBack,
  type LaneHealth,
  openness,
  withProbe,
} from "../../../src/dispatch/accounts/lane-health.ts";

const MINUTE = 60_000;
const NOW = 1_000_000_000;
const place = { account: "a", endpoint: "/v1/chat/completions", model: "m" } as const;
const well = healthOf(new Map(), place);
const sent = (key: string, sentAt = NOW) => ({ key, sentAt });
const fault = (code: string) => ({ code, message: "Bad." });

/** After these codes, one batch each. */
const after = (...codes: readonly string[]): LaneHealth =>
  codes.reduce((health, code, index) => afterFault(health, sent(`b${index}`), fault(code), NOW), well);

describe("a lane whose batches are refused for a line", () => {
  test.each([
    ["is open after one", ["bad_field"], "open"],
    ["is open after two", ["bad_field", "bad_field"], "open"],
    ["pauses after three, and one request goes alone", ["bad_field", "bad_field", "bad_field"], "probe"],
    ["is open after three with two codes", ["bad_field", "bad_field", "too_long"], "open"],
    ["pauses at once where its model is not there", ["model_not_found"], "probe"],
    ["pauses at once where its model is another", ["mismatched_model"], "probe"],
  ] as const)("%s", (_name, codes, expected) => {
    expect(openness(after(...codes), NOW)).toBe(expected);
  });

  test("counts a batch once", () => {
    const health = after("bad_field", "bad_field");
    expect(afterFault(health, sent("b1"), fault("bad_field"), NOW)).toBe(health);
  });

  test("starts again after an accepted batch", () => {
    expect(afterAcceptance(after("bad_field", "bad_field"), sent("b9", 0))).toMatchObject({ faults: null });
    expect(afterAcceptance(well, sent("b9"))).toBe(well);
  });
});

describe("a lane that pauses", () => {
  const paused = after("model_not_found");
  const probing = withProbe(paused, "p1", NOW);

  test("keeps back all but one small batch, and sends no second one meanwhile", () => {
    expect([isKeptBack(probing, "p1", NOW), isKeptBack(probing, "b7", NOW)]).toEqual([false, true]);
    expect(openness(probing, NOW + 29 * MINUTE)).toBe("closed");
    expect(withProbe(probing, "p2", NOW + MINUTE)).toBe(probing);
    expect(openness(probing, NOW + 30 * MINUTE)).toBe("probe");
  });

  test("pauses ever longer, up to six hours, while the small batch is refused", () => {
    let health = paused;
    const minutes: number[] = [];
    for (let now = NOW; minutes.length < 9; now = health.pause?.until ?? 0) {
      health = afterFault(withProbe(health, "p", now), sent("p", now), fault("model_not_found"), now);
      minutes.push(((health.pause?.until ?? 0) - now) / MINUTE);
    }
    expect(minutes).toEqual([5, 10, 20, 40, 80, 160, 320, 360, 360]);
  });

  test("is not changed by batches that were sent before", () => {
    expect(afterFault(probing, sent("b7", NOW - 1), fault("model_not_found"), NOW + MINUTE)).toBe(probing);
    expect(afterAcceptance(probing, sent("b7", NOW - 1))).toBe(probing);
  });

  test("continues once the small batch is accepted, whatever the sender's clock said", () => {
    expect(afterAcceptance(probing, sent("p1", NOW - 1))).toEqual(well);
    expect(afterAcceptance(probing, sent("p0", NOW + 1))).toEqual(well);
  });

  test("is probed where a clock that was ahead has written a time too late", () => {
    expect(openness(withProbe(paused, "p1", NOW + 24 * 60 * MINUTE), NOW)).toBe("probe");
  });

  test("is kept as text, and a lane that is well is not", () => {
    const row = { name: healthMark(place), value: healthValue(probing) as string };
    expect(healthOf(healthsOf([row, { name: "other", value: "x" }]), place)).toEqual(probing);
    expect(healthValue(well)).toBeNull();
  });

  test("has a mark of its own, whatever words the names of account and model have in common", () => {
    const places = [
      { ...place, account: "a b", model: "c" },
      { ...place, account: "a", model: "b c" },
      { ...place, account: "a%20b", model: "c" },
    ];
    expect(new Set(places.map(healthMark)).size).toBe(3);
    const rows = places.map((each) => ({
      name: healthMark(each),
      value: healthValue({ ...probing, ...each }) as string,
    }));
    // As an earlier version wrote it, for the first or the second.
    const former = {
      name: healthMark(places[1] as typeof place),
      value: healthValue({ ...paused, ...places[0] }) as string,
    };
    expect(places.map((each) => healthOf(healthsOf([...rows, former]), each))).toEqual(
      places.map((each) => ({ ...probing, ...each })),
    );
  });

  test("stays so under the name that an earlier version gave its mark, until the next change", () => {
    const old = { ...probing, account: "a b" };
    const row = { name: healthMark({ ...place, account: "a", model: "b m" }), value: healthValue(old) as string };
    expect(healthOf(healthsOf([row]), old)).toEqual(old);
    expect(formerRows([row], old)).toEqual([row]);
    expect([formerRows([row], place), healthsOf([row]).size]).toEqual([[], 1]);
    const newer = { ...old, by: "b9" };
    const own = { name: healthMark(old), value: healthValue(newer) as string };
    for (const rows of [
      [row, own],
      [own, row],
    ])
      expect(healthOf(healthsOf(rows), old)).toEqual(newer);
  });

  test("is remembered from a record without a version, and forgotten from one of another", () => {
    const name = healthMark(place);
    const paused = after("model_not_found");
    const stored = (more: object) => [{ name, value: JSON.stringify({ ...paused, ...more }) }];
    expect(healthOf(healthsOf(stored({})), place)).toEqual(paused);
    expect(healthOf(healthsOf(stored({ version: 2 })), place)).toEqual(well);
  });
});
