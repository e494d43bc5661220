import { xaiCase } from "../account-cases.ts";
import { accountSuite } from "../account-suite.ts";

for (const reach of ["in the process", "over real sockets"] as const) accountSuite(xaiCase, reach);
