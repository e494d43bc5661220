// A setup file of vitest, which runs it before each test file: runs after each test, and after each
// file, what shared test support has registered.

import { afterAll, afterEach } from "vitest";
import { endFile, endTest, registerRunner } from "./after-tests.ts";

registerRunner();
afterEach(endTest);
afterAll(endFile);
