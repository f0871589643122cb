import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app";
import "./lib/settings";
import "./style/tokens.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/parts.css";
import "./style/screens.css";
import "./style/graph.css";
import "./style/run.css";
import "./style/task.css";
import "./style/diff.css";
import "./style/review.css";
import "./style/forms.css";
import "./style/board.css";
import "./style/costs.css";
import "./style/settings.css";
import "./style/newrun.css";
import "./style/agents.css";

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
