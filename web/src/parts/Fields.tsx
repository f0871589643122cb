import { type ReactNode, useId } from "react";

/** What a control is called and described by. */
interface Names {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": true | undefined;
}

interface FieldProps {
  label: string;
  help?: ReactNode;
  wrong?: string | null;
  wide?: boolean;
  children: (names: Names) => ReactNode;
}

/** A label over a control, what it means below, and what is wrong with it. */
function Field({ label, help, wrong, wide, children }: FieldProps) {
  const id = useId();
  const below = wrong || help ? `${id}-below` : undefined;
  return (
    <div className={wide ? "field wide" : "field"} data-wrong={wrong ? "true" : undefined}>
      <label htmlFor={id}>{label}</label>
      {children({ id, "aria-describedby": below, "aria-invalid": wrong ? true : undefined })}
      {below && (
        <span id={below} className={wrong ? "wrong" : "faint"}>
          {wrong || help}
        </span>
      )}
    </div>
  );
}

interface TextProps {
  label: string;
  value: string;
  set: (value: string) => void;
  help?: ReactNode;
  wrong?: string | null;
  wide?: boolean;
  placeholder?: string;
  kind?: "text" | "password" | "decimal" | "numeric";
  required?: boolean;
  mono?: boolean;
  autoComplete?: string;
  list?: string;
}

export function TextField(props: TextProps) {
  const { kind = "text" } = props;
  return (
    <Field label={props.label} help={props.help} wrong={props.wrong} wide={props.wide}>
      {(names) => (
        <input
          {...names}
          className={props.mono ? "input mono" : "input"}
          type={kind === "password" ? "password" : "text"}
          inputMode={kind === "decimal" || kind === "numeric" ? kind : undefined}
          value={props.value}
          placeholder={props.placeholder}
          required={props.required}
          autoComplete={props.autoComplete ?? "off"}
          list={props.list}
          onChange={(event) => props.set(event.target.value)}
        />
      )}
    </Field>
  );
}

interface LinesProps extends Omit<TextProps, "kind" | "list"> {
  rows?: number;
}

export function TextLines(props: LinesProps) {
  return (
    <Field label={props.label} help={props.help} wrong={props.wrong} wide={props.wide}>
      {(names) => (
        <textarea
          {...names}
          className={props.mono ? "input mono" : "input"}
          rows={props.rows ?? 3}
          value={props.value}
          placeholder={props.placeholder}
          onChange={(event) => props.set(event.target.value)}
        />
      )}
    </Field>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  set: (value: string) => void;
  options: readonly (readonly [value: string, text: string])[];
  help?: ReactNode;
  wide?: boolean;
}

export function Choice({ label, value, set, options, help, wide }: ChoiceProps) {
  return (
    <Field label={label} help={help} wide={wide}>
      {(names) => (
        <select {...names} className="input" value={value} onChange={(event) => set(event.target.value)}>
          {options.map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface SegmentsProps<T extends string> {
  label: string;
  value: T;
  set: (value: T) => void;
  options: readonly (readonly [value: T, text: string])[];
}

/** One of a few, all of them seen. */
export function Segments<T extends string>({ label, value, set, options }: SegmentsProps<T>) {
  return (
    <fieldset className="segments" aria-label={label}>
      {options.map(([name, text]) => (
        <button key={name} type="button" aria-pressed={value === name} onClick={() => set(name)}>
          {text}
        </button>
      ))}
    </fieldset>
  );
}
