import { refuse } from "../../lib/messages";
import { compact, remember, theme } from "../../lib/settings";
import { useStore } from "../../lib/store";
import { askToNotify, notifying } from "../../live/needs";
import { Button } from "../../parts/Button";
import { Segments } from "../../parts/Fields";
import { words } from "../../words";
import { settings } from "../../words/settings";

const text = settings.appearance;

export function Appearance() {
  const chosen = useStore(theme);
  const rows = useStore(compact);
  const asks = useStore(notifying);
  const turnOn = async () => {
    if (!(await askToNotify())) refuse(words.inbox.notifyNo);
  };
  const turnOff = () => {
    notifying.set(false);
    remember("notify", "");
  };
  return (
    <>
      <h1>{settings.tabs.appearance}</h1>
      <dl className="facts roomy">
        <dt>{text.theme}</dt>
        <dd>
          <Segments
            label={text.theme}
            value={chosen}
            set={(value) => theme.set(value)}
            options={[
              ["system", words.theme.system],
              ["light", words.theme.light],
              ["dark", words.theme.dark],
            ]}
          />
        </dd>
        <dt>{text.rows}</dt>
        <dd>
          <Segments
            label={text.rows}
            value={rows ? "compact" : "roomy"}
            set={(value) => compact.set(value === "compact")}
            options={[
              ["roomy", text.roomy],
              ["compact", text.compact],
            ]}
          />
        </dd>
        <dt>{text.notify}</dt>
        <dd className="stack">
          <span className="row wrap">
            {asks ? text.notifyOn : text.notifyOff}
            <Button local act={asks ? turnOff : turnOn}>
              {asks ? text.turnOff : text.turnOn}
            </Button>
          </span>
          <span className="small faint">{text.notifyHelp}</span>
        </dd>
      </dl>
      <p className="small faint">{text.browser}</p>
    </>
  );
}
