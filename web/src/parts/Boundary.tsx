// A screen that cannot be drawn takes only itself along: what happened is said, and the rest of the page stays in use.

import { Component, type ReactNode } from "react";
import { words } from "../words";
import { Button } from "./Button";

interface Props {
  /** Where the user is: another place is drawn anew. */
  place: string;
  children: ReactNode;
}

interface State {
  error: Error | null;
  place: string;
}

export class Boundary extends Component<Props, State> {
  override state: State = { error: null, place: this.props.place };

  static getDerivedStateFromError(thrown: unknown): Partial<State> {
    return { error: thrown instanceof Error ? thrown : new Error(String(thrown)) };
  }

  static getDerivedStateFromProps(props: Props, state: State): Partial<State> | null {
    return props.place === state.place ? null : { error: null, place: props.place };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <div className="page stack">
        <section className="empty" role="alert">
          <h1>{words.broken.title}</h1>
          <p className="dim">{words.broken.help}</p>
          <pre className="code">{error.message}</pre>
          <div className="row">
            <Button local act={() => this.setState({ error: null })}>
              {words.broken.again}
            </Button>
            <Button kind="quiet" local act={() => location.reload()}>
              {words.broken.reload}
            </Button>
          </div>
        </section>
      </div>
    );
  }
}
