import { anthropicCase } from "../account-cases.ts";
import { accountSuite } from "../account-suite.ts";

accountSuite(anthropicCase, "in the process");
