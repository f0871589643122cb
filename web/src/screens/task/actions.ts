// What a user can do with a task from its own screen: the same as beside the table, by the same rules.

import type { RunTask } from "../../api/types";
import { taskWords } from "../../words/task";
import { mayNot } from "../run/taskActs";

export { cancelTask, retryTask, sendWords, skipTask } from "../run/taskActs";

const text = taskWords.acts;

export const may = {
  retry: mayNot.retry,
  skip: mayNot.skip,
  cancel: mayNot.cancel,
  send: (task: RunTask, kind: string | undefined): string | null => {
    if (kind === "run" || kind === "command") return text.isCommand;
    return task.state === "running" ? null : text.notAtWork;
  },
};
