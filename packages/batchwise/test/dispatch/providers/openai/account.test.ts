import { openaiCase } from "../account-cases.ts";
import { accountSuite } from "../account-suite.ts";

accountSuite(openaiCase, "in the process");
