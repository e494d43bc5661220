// By webpack it is built in compat/frameworks/prove, since that takes a minute.

import { test } from "vitest";
import { tryNext } from "../next-application.ts";

test("a Next.js application renders, bundles by Turbopack and serves", { timeout: 300_000 }, () =>
  tryNext("--turbopack"),
);
