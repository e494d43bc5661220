// Faults of jobs: their states, their counts, and the calls that make them and look at them.

import type { FakeFault } from "batchwise/dispatch/testing";
import { type Fault, HOUR, MINUTE, PAGE } from "./fault.ts";
import type { Site } from "./site.ts";

/**
 * As each provider says that credentials have expired, with the name of the code and the status
 * that it has there.
 */
const expiredOf = ({ family }: Site): FakeFault["reply"] =>
  family.service.name === "bedrock"
    ? {
        status: 403,
        body: { message: "The security token included in the request is expired" },
        headers: { "x-amzn-errortype": "ExpiredTokenException" },
      }
    : {
        status: 401,
        body: { error: { code: 401, message: "Request had invalid credentials.", status: "UNAUTHENTICATED" } },
      };

const gone = ({ family, fake }: Site, until: number): void => {
  const { retrieve, list } = family.service;
  fake.inject({ on: retrieve, accept: false, reply: { status: 404 }, until });
  fake.inject({ on: list, reply: { edit: () => "{}" }, until });
};

const creates = (reply: FakeFault["reply"], more: Partial<FakeFault> = {}) => {
  return ({ family, fake }: Site): void =>
    fake.inject({ on: family.service.create, ...more, ...(reply === undefined ? {} : { reply }) });
};

/** Each look at a job, and each list. */
const looks = (reply: FakeFault["reply"], until: number, more: Partial<FakeFault> = {}) => {
  return ({ family, fake, time }: Site): void => {
    const on = [family.service.retrieve, family.service.list];
    fake.inject({ on, until: time.now() + until, ...more, ...(reply === undefined ? {} : { reply }) });
  };
};

export const JOB_FAULTS: readonly Fault[] = [
  {
    name: "stays in progress long after its time",
    strike: (site) => looks({ edit: site.family.service.stateAs("running") }, 2 * HOUR)(site),
    told: /has not ended/,
  },
  {
    name: "is done, then runs again, then is done",
    isLong: true,
    plan: { runMs: 2 * HOUR },
    strike({ family, fake }) {
      fake.inject({ on: family.service.retrieve, reply: { edit: family.service.stateAs("done") } });
    },
  },
  {
    name: "is not in the list for an hour",
    strike({ family, fake, time }) {
      fake.inject({ on: family.service.list, reply: { edit: () => "{}" }, until: time.now() + HOUR });
    },
  },
  {
    name: "is not known for eight minutes once it runs",
    plan: { runMs: HOUR },
    strike: (site) => void site.time.setTimeout(() => gone(site, site.time.now() + 8 * MINUTE), 20 * MINUTE),
    told: /does not know .* any more/,
  },
  {
    name: "is not known any more",
    plan: { runMs: HOUR },
    strike: (site) => void site.time.setTimeout(() => gone(site, site.time.now() + 900 * HOUR), 20 * MINUTE),
    told: /does not know .* any more. It is quarantined/,
    ends: "aside",
  },
  { name: "is created, and the answer is lost", strike: creates("drop", { times: 2 }) },
  {
    name: "is created, and the answer takes longer than a minute",
    strike: creates(undefined, { replyDelayMs: MINUTE + 500 }),
  },
  { name: "is created, and the answer is a 500", strike: creates({ status: 500 }) },
  { name: "is created, and the answer is a page with a 200", strike: creates({ status: 200, text: PAGE }) },
  { name: "is created, and the answer is an empty object", strike: creates({ edit: () => "{}" }) },
  {
    name: "is created, and the answer is an error with a 200",
    strike: creates({ status: 200, body: { error: { code: 500, message: "Internal error.", status: "INTERNAL" } } }),
  },
  {
    name: "is created, and every look for half an hour is a page with a 200",
    isLong: true,
    strike: looks({ status: 200, text: PAGE }, HOUR / 2, { accept: false }),
    told: /./,
  },
  {
    name: "is created, and every look for half an hour is a page with a 502",
    isLong: true,
    strike: looks({ status: 502, text: PAGE }, HOUR / 2, { accept: false }),
    told: /./,
  },
  {
    name: "is created, the answer is lost, and every look for half an hour is an error with a 200",
    strike(site) {
      creates("drop", { times: 3 })(site);
      const body = { error: { code: 500, message: "Internal error.", status: "INTERNAL" } };
      looks({ status: 200, body }, HOUR / 2, { accept: false })(site);
    },
  },
  {
    name: "is throttled for hours when it is created",
    strike: ({ family, fake, time }) =>
      fake.inject({ on: family.service.create, accept: false, until: time.now() + HOUR, reply: { status: 429 } }),
  },
  {
    name: "is throttled for hours when it is looked at",
    isLong: true,
    strike: looks({ status: 429 }, HOUR, { accept: false }),
    told: /./,
  },
  {
    name: "meets expired credentials for an hour in its middle",
    plan: { runMs: 2 * HOUR },
    strike(site) {
      const { family, fake, time } = site;
      time.setTimeout(() => {
        const on = [family.service.retrieve, family.service.list];
        fake.inject({ on, accept: false, until: time.now() + HOUR, reply: expiredOf(site) ?? "drop" });
      }, 30 * MINUTE);
    },
    told: /expired|invalid credentials/,
  },
  {
    name: "meets expired credentials for an hour before it is created",
    strike(site) {
      const { family, fake, time } = site;
      const until = time.now() + HOUR;
      fake.inject({ on: family.service.create, accept: false, until, reply: expiredOf(site) ?? "drop" });
    },
    told: /expired|invalid credentials/,
  },
  {
    name: "runs out of time half done",
    plan: { runMs: 200 * HOUR, expiredShare: 0.5 },
    jobs: 2,
    isLong: true,
  },
  {
    name: "runs out of time before anything ran",
    plan: { runMs: 9_000 * HOUR },
    strike({ family, fake, time }) {
      const { retrieve, stateAs } = family.service;
      const edit = (body: string): string =>
        body.includes(fake.batches()[0]?.id ?? "") ? stateAs("expired")(body) : body;
      time.setTimeout(() => fake.inject({ on: retrieve, times: 2, reply: { edit } }), 10 * MINUTE);
    },
    jobs: 2,
  },
  {
    name: "says a state that nobody knows",
    plan: { runMs: HOUR, strangeState: "Rescheduling" },
  },
  {
    name: "says that it is stopping, and is done",
    only: "bedrock",
    plan: { runMs: HOUR, strangeState: "Stopping" },
  },
  {
    name: "counts more than it was given",
    strike: (site) => looks({ edit: site.family.service.counting(999) }, 900 * HOUR)(site),
  },
  {
    name: "counts nothing, and its results come half an hour late",
    plan: { resultsLagMs: HOUR / 2 },
    strike: (site) => looks({ edit: site.family.service.counting(null) }, 900 * HOUR)(site),
    told: /results/,
  },
  {
    name: "counts nothing, and its results are cut after a line for twenty minutes",
    // The manifest counts them.
    only: "bedrock",
    output: () => (lines) => `${lines[0]}\n`,
    overAfterMs: 20 * MINUTE,
    strike: (site) => looks({ edit: site.family.service.counting(null) }, 900 * HOUR)(site),
    told: /have 1 line, and the provider counts 4/,
  },
  {
    name: "counts zero, and its results come half an hour late",
    isLong: true,
    plan: { resultsLagMs: HOUR / 2 },
    strike: (site) => looks({ edit: site.family.service.counting(0) }, 900 * HOUR)(site),
    told: /results/,
  },
];
