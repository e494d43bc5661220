import { serviceCases } from "../account-cases.ts";
import { accountSuite } from "../account-suite.ts";

for (const adapter of serviceCases) accountSuite(adapter, "over real sockets");
