import type { Refusal } from "../../api/http";
import { Choice, TextField, TextLines } from "../../parts/Fields";
import { board } from "../../words/board";
import type { Form } from "./form";

const text = board.edit;

interface Props {
  form: Form;
  set: <K extends keyof Form>(name: K, value: Form[K]) => void;
  refusal: Refusal | null;
}

/** Which control a refusal is about: the server names the field, or its words do. */
function about(refusal: Refusal | null, ...names: string[]): string | null {
  if (!refusal) return null;
  if (refusal.field && names.includes(refusal.field)) return refusal.message;
  const found = refusal.errors.find((one) => names.some((name) => one.message.includes(`'${name}'`)));
  return found?.message ?? null;
}

export function TaskFields({ form, set, refusal }: Props) {
  const of =
    <K extends keyof Form>(name: K) =>
    (value: string) =>
      set(name, value as Form[K]);
  return (
    <div className="task-fields">
      <TextField
        label={text.id}
        value={form.id}
        set={of("id")}
        mono
        required
        wrong={refusal?.errors.find((one) => one.message.includes("task id"))?.message ?? about(refusal, "id")}
      />
      <TextField label={text.name} value={form.name} set={of("name")} wrong={about(refusal, "name")} />
      <TextField label={text.epic} value={form.epic} set={of("epic")} />
      <Choice
        label={text.priority}
        value={form.priority}
        set={of("priority")}
        options={[["", text.asDefault], ...board.priorities.map((name) => [name, name] as const)]}
      />
      <TextField
        label={text.after}
        value={form.after}
        set={of("after")}
        mono
        placeholder={text.afterHelp}
        wrong={refusal?.errors.find((one) => one.message.includes("waits for"))?.message ?? null}
      />
      <TextField label={text.agent} value={form.agent} set={of("agent")} placeholder={text.asDefault} />
      <TextField label={text.model} value={form.model} set={of("model")} placeholder={text.asDefault} />
      <TextField
        label={text.files}
        value={form.files}
        set={of("files")}
        mono
        placeholder={text.filesHelp}
        wrong={about(refusal, "files")}
      />
      <TextField
        label={text.cap}
        kind="decimal"
        value={form.cap}
        set={of("cap")}
        placeholder={board.run.noCap}
        wrong={about(refusal, "max_cost")}
      />
      <Choice
        label={text.land}
        value={form.land}
        set={of("land")}
        options={[
          ["", text.asDefault],
          ["auto", text.landAuto],
          ["approve", text.landApprove],
        ]}
      />
      <Choice
        label={text.kind}
        value={form.kind}
        set={of("kind")}
        options={[
          ["prompt", text.kindPrompt],
          ["run", text.kindRun],
        ]}
      />
      <TextLines
        label={text.verify}
        value={form.verify}
        set={of("verify")}
        rows={2}
        mono
        wide
        placeholder={text.verifyHelp}
      />
      <TextLines
        label={form.kind === "run" ? text.run : text.prompt}
        value={form.work}
        set={of("work")}
        rows={4}
        wide
        mono={form.kind === "run"}
        wrong={about(refusal, "prompt", "run")}
      />
    </div>
  );
}
