// What happened to a task, in words: no browser is needed for it.

import { expect, test } from "@playwright/test";
import { type TaskEvent, told } from "../src/screens/task/events";

const ended = (outcome: TaskEvent["outcome"], processes?: object): TaskEvent => ({
  seq: 1,
  at: "2026-01-02T03:04:05Z",
  type: "attempt_ended",
  attempt: 2,
  elapsed: 4_000,
  outcome,
  phases: processes ? { working: 3_900, processes } : undefined,
});

test("what an attempt took of the machine is said as far as it was measured", () => {
  const whole = { cpu: 62_000, memory: 10 << 20, memory_together: 300 << 20, read: 512, written: 5 << 20 };
  expect(told([ended("succeeded", whole)])[0]?.more).toEqual([
    "1 min of processor time, 300.0 MiB of memory at most, 0.5 KiB read, 5.0 MiB written",
  ]);
  const failed = { failed: { class: "exit", message: "exit code 1" } };
  expect(told([ended(failed, { memory: 2 << 20 })])[0]?.more).toEqual([
    "exit: exit code 1",
    "2.0 MiB of memory at most",
  ]);
  expect(told([ended("succeeded", {})])[0]?.more).toEqual([]);
  expect(told([ended("succeeded")])[0]?.more).toEqual([]);
});
