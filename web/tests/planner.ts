// An agent that plans.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { World } from "./world";

/** Plans what is written down; a task it does by writing a file of the task's name. */
export function addPlanner(world: World): void {
  const line = (name: string, answer: unknown) => {
    const said = { type: "result", ok: true, text: JSON.stringify(answer) };
    writeFileSync(join(world.folder, `${name}.line`), `${JSON.stringify(said)}\n`);
  };
  line("analysis", {
    num_tasks: 3,
    reasoning: "A store and a door to it.",
    key_features_detected: ["returns"],
    technical_components: ["db"],
  });
  line("plan", {
    tasks: [
      {
        id: "store",
        name: "Returns and their lines",
        description: "Make the store.",
        priority: "high",
        dependencies: [],
        files: ["store.txt"],
        verify: ["test -s store.txt"],
      },
      {
        id: "door",
        name: "Request a return",
        description: "Make the door.",
        dependencies: ["store"],
        files: ["door.txt"],
      },
      { id: "mails", name: "Four e-mails", description: "Write them.", dependencies: ["store"], files: ["mails.txt"] },
    ],
    notes: "The checkout is not touched.",
  });
  world.addAgent(
    "planner",
    `
read -r task
echo '{"type":"usage","model":"claude-opus-5-5","input":1000,"output":100,"turns":1}'
case "$task" in
  *"Write the plan"*) cat ${world.folder}/plan.line ;;
  *"Tell how many tasks"*) cat ${world.folder}/analysis.line ;;
  *) echo x > "$CONDUCTOR_TASK.txt"; echo '{"type":"result","ok":true,"text":"done"}' ;;
esac
`,
  );
}
