import { mistralCase } from "../account-cases.ts";
import { accountSuite } from "../account-suite.ts";

accountSuite(mistralCase, "in the process");
