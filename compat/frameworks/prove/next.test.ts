import { test } from "vitest";
import { tryNext } from "../next-application.ts";

test("a Next.js application renders, bundles by webpack and serves", () => tryNext("--webpack"));
