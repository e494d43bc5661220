// Reads the number of enqueued tokens from a refusal's message, such as "Limit: 90,000 enqueued
// tokens". Ignores a number that may not be of tokens: a wrong one would block all requests of a
// model. Pure.

/** Thousands separated by a comma, dot, underscore, apostrophe or a space of any width. */
const GROUPED = "\\d{1,3}(?:[,._'’\\u0020\\u00a0\\u2009\\u202f]\\d{3})+";
const UNIT = "(?:\\s*(k|m|b|thousand|million|billion)\\b)?";
const LIMIT = new RegExp(
  `\\blimit(?:ed)?(?:\\s+(?:is|of|to))?[:=]?\\s*(${GROUPED}|\\d+(?:[.,]\\d+)?)${UNIT}` +
    "\\s+(?:enqueued\\s+|queued\\s+|input\\s+|prompt\\s+|batch\\s+)*tokens?\\b",
  "i",
);

const UNITS: Readonly<Record<string, number>> = {
  k: 1e3,
  thousand: 1e3,
  m: 1e6,
  million: 1e6,
  b: 1e9,
  billion: 1e9,
};

/** null if the message has no number, or one that may not be of tokens. */
export function tokenFigureIn(message: string): number | null {
  const [, digits = "", unit] = LIMIT.exec(message) ?? [];
  // "1.500 million" is one and a half; "1.500" without a unit is fifteen hundred.
  const isDecimal = unit !== undefined && /^\d+[.,]\d+$/.test(digits);
  const number = Number(isDecimal ? digits.replace(",", ".") : digits.replace(/\D/g, ""));
  const figure = Math.round(number * (unit === undefined ? 1 : (UNITS[unit.toLowerCase()] as number)));
  const isPart = unit === undefined && /^\d+[.,]\d+$/.test(digits) && !new RegExp(`^${GROUPED}$`).test(digits);
  return !isPart && Number.isSafeInteger(figure) && figure > 0 ? figure : null;
}
