import type { Need } from "../../api/types";

export const taskAddress = (need: Need, tab = ""): string =>
  need.task ? `/runs/${need.run}/tasks/${encodeURIComponent(need.task)}${tab}` : `/runs/${need.run}`;
