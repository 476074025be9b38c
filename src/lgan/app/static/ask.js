// One molecule or graph: draw or choose it, see what the model says of it, and why.

import { accepted, ask, get, remove, upload } from "./api.js";
import { EXAMPLES } from "./examples.js";
import { h, later, number, percent, picture, say } from "./dom.js";
import { headline, prediction } from "./prediction.js";
import { why } from "./why.js";

export class Ask {
  constructor(root, model, actions) {
    Object.assign(this, { root, model, actions, subject: null, target: null, numbers: false, turn: 0 });
    this.answer = h("div", { className: "card answer", "aria-busy": "false" });
    this.reason = h("div", { className: "card reason", "aria-busy": "false" });
    this.near = h("div", { className: "card near" });
    this.problem = h("p", { className: "message", role: "alert", hidden: true });
    this.pin = h("button", { type: "button", className: "quiet", disabled: true, onclick: () => actions.pin(this.subject) }, "Pin to compare");
    root.append(
      h("div", { className: "left" }, model.molecules ? this.drawing() : this.choosing(), this.near),
      h("div", { className: "right" }, this.answer, this.reason));
    this.change = later(120, () => this.typed());
    this.clear();
  }

  // The molecule: a field for SMILES, examples by name, and the editor, one following the other.
  drawing() {
    this.field = h("input", {
      type: "text", id: "smiles", autocomplete: "off", spellcheck: false, autocapitalize: "off",
      placeholder: "paste SMILES, or draw below", oninput: () => this.change(),
    });
    const examples = h("select", {
      id: "examples", "aria-label": "Examples",
      onchange: () => { if (examples.value) this.open(examples.value); examples.value = ""; },
    }, h("option", { value: "" }, "Examples"), EXAMPLES.map(([name, smiles]) => h("option", { value: smiles }, name)));
    this.board = h("div", { className: "editor", id: "editor", role: "group", "aria-label": "Structure editor, for the mouse; the field above takes SMILES" });
    return h("div", { className: "card" },
      h("div", { className: "row" }, h("label", { htmlFor: "smiles" }, "Molecule"), this.field, examples, this.pin),
      this.problem, this.board);
  }

  // Graphs that are no molecules: from a file, or some to begin with.
  choosing() {
    this.list = h("select", { id: "graphs", disabled: true, onchange: () => this.choose(Number(this.list.value)) }, h("option", {}, "none yet"));
    this.shown = h("div", { className: "canvas plain" });
    this.reading = h("span", { className: "soft", role: "status" });
    const file = h("input", { type: "file", id: "graph-file", accept: accepted(this.model), onchange: () => this.read(file.files[0]) });
    get("/api/examples").then(({ graphs }) => {
      if (graphs.length && !this.graphs) this.offer(graphs.map((graph) => async () => graph), "example");
    });
    return h("div", { className: "card" },
      h("div", { className: "row" }, h("label", { htmlFor: "graphs" }, "Graph"), this.list, this.pin),
      h("div", { className: "row" }, h("label", { htmlFor: "graph-file" }, "File (TU archive, JSON lines, GraphML)"), file, this.reading),
      this.problem, this.shown);
  }

  async read(file) {
    if (!file) return;
    this.reading.textContent = `reading ${file.name}…`;
    try {
      const batch = await upload(file, this.model);
      await remove(`/api/batches/${batch.id}`);  // its graphs stay; the others are predicted under Many
      this.offer(Array.from({ length: batch.total }, (_, row) => () => get(`/api/batches/${batch.id}/graphs/${row}`)), "graph");
      this.reading.textContent = `${file.name}: ${batch.total.toLocaleString("en")} graphs`;
    } catch (error) {
      this.reading.textContent = "";
      this.complain(error.message, false);
    }
  }

  offer(graphs, word) {
    this.graphs = graphs;
    this.list.disabled = false;
    this.list.replaceChildren(...graphs.map((_, i) => h("option", { value: i }, `${word} ${i + 1}`)));
    this.choose(0);
  }

  async choose(place) {
    this.list.value = place;
    try {
      const graph = await this.graphs[place]();
      const shown = this.show({ graph, name: this.list.selectedOptions[0].textContent });
      const [{ svgs: [svg] }] = await Promise.all([ask("/api/pictures", { graphs: [graph] }), shown]);
      if (this.subject.graph === graph) this.shown.replaceChildren(svg ? picture(svg, "The graph") : "too large to draw");
    } catch (error) {
      this.complain(error.message);
    }
  }

  // The editor is a megabyte of script: it comes after everything else.
  async edit() {
    if (!this.board) return;
    this.ocl = await import("./vendor/openchemlib.js");
    this.editor = new this.ocl.CanvasEditor(this.board, { initialMode: "molecule" });
    this.editor.setOnChangeListener(({ type, isUserEvent }) => {
      if (type === "molecule" && isUserEvent) this.drawn();
    });
    this.draw(this.field.value.trim());
    this.board.dataset.ready = "yes";
  }

  drawn() {
    const smiles = this.editor.getMolecule().toIsomericSmiles();
    if (smiles === this.field.value) return;
    this.field.value = smiles;
    this.change();
  }

  draw(smiles) {
    if (!this.editor) return;
    try {
      this.editor.setMolecule(smiles ? this.ocl.Molecule.fromSmiles(smiles) : new this.ocl.Molecule(0, 0));
    } catch { /* the server says what is wrong with it */ }
  }

  typed() {
    const smiles = this.field.value.trim();
    if (document.activeElement === this.field) this.draw(smiles);
    if (smiles) this.show({ smiles });
    else this.clear();
  }

  open(smiles) {
    this.field.value = smiles;
    this.draw(smiles);
    return this.show({ smiles });
  }

  clear() {
    this.turn += 1;
    this.subject = null;
    this.pin.disabled = true;
    this.complain("");
    this.link("");
    const hint = this.model.molecules ? "Draw a molecule, paste SMILES, or choose an example." : "Drop a file of graphs anywhere on the page, or choose one.";
    this.answer.replaceChildren(h("h2", {}, "Prediction"), h("p", { className: "empty" }, "Nothing asked yet.", h("br"), hint));
    this.reason.replaceChildren(h("h2", {}, "Why"), h("p", { className: "empty" }, "The parts that counted for and against come here."));
    this.near.replaceChildren();
    this.near.hidden = true;
  }

  link(smiles) {
    if (!this.model.molecules) return;
    const query = smiles ? `?smiles=${encodeURIComponent(smiles)}` : "";
    history.replaceState(null, "", location.pathname + query);
  }

  complain(words, stale = Boolean(words)) {
    this.problem.textContent = words;
    this.problem.hidden = !words;
    this.root.classList.toggle("stale", stale);
  }

  async show(subject) {
    const turn = ++this.turn;
    this.waiting?.abort();
    this.waiting = new AbortController();
    const signal = this.waiting.signal;
    this.subject = subject;
    this.link(subject.smiles);
    this.answer.setAttribute("aria-busy", "true");
    try {
      const several = subject.smiles === undefined ? { graphs: [subject.graph] } : { smiles: [subject.smiles] };
      const { rows: [row], details: [details] } = await ask("/api/predict", { ...several, details: true }, signal);
      if (turn !== this.turn) return;
      if (row.error) throw new Error(`This cannot be read: ${row.error}.`);
      this.complain("");
      this.pin.disabled = false;
      this.row = row;
      this.answer.replaceChildren(h("h2", {}, "Prediction"), prediction(this.model, row, details));
      this.neighbours(details);
      say(`Predicted ${headline(this.model, row)}`);
      await this.explain(turn, signal);
    } catch (error) {
      if (error.name === "AbortError" || turn !== this.turn) return;
      this.pin.disabled = true;
      this.complain(error.message);
    } finally {
      if (turn === this.turn) this.answer.setAttribute("aria-busy", "false");
    }
  }

  async explain(turn = this.turn, signal = undefined) {
    const { subject, row } = this;
    this.answer.setAttribute("aria-busy", "false");
    this.reason.setAttribute("aria-busy", "true");
    try {
      const { name: _, ...one } = subject;
      const asked = { ...one, numbers: this.numbers };
      if (this.target !== null) asked.class = this.target;
      const found = await ask("/api/explain", asked, signal);
      if (turn !== this.turn) return;
      this.reason.replaceChildren(this.controls(found), why(this.model, one, found, row, this.actions));
    } catch (error) {
      if (error.name === "AbortError" || turn !== this.turn) return;
      this.reason.replaceChildren(h("h2", {}, "Why"), h("p", { className: "message" }, error.message));
    } finally {
      if (turn === this.turn) this.reason.setAttribute("aria-busy", "false");
    }
  }

  // Which class or target the colours are for, and numbers for those who do not go by colour.
  controls(found) {
    const names = this.model.outputs;
    const choose = h("select", {
      id: "class", onchange: () => { this.target = choose.value; this.explain(); },
    }, names.map((name) => h("option", { value: name, selected: name === found.class }, name)));
    const word = this.model.kind === "regression" || this.model.kind === "multilabel" ? "target" : "class";
    const box = h("input", { type: "checkbox", checked: this.numbers, onchange: () => { this.numbers = box.checked; this.explain(); } });
    return h("div", { className: "row" },
      h("h2", {}, "Why"), h("span", { className: "coming", role: "status" }, "working it out…"),
      names.length > 1 ? h("label", { htmlFor: "class" }, `for the ${word} `, choose) : h("span", {}, `for ${found.class}`),
      h("label", {}, box, " numbers"));
  }

  async neighbours(details) {
    this.near.hidden = !details.nearest;
    if (!details.nearest) return;
    const cards = details.nearest.map((one) => {
      const all = Object.entries(one.labels).map(([name, value]) => `${name}: ${typeof value === "number" ? number(value) : value ?? "unknown"}`);
      const labels = all.slice(0, 3).join(", ") + (all.length > 3 ? ` and ${all.length - 3} more` : "");
      return h("button", {
        type: "button", className: "neighbour", disabled: !one.smiles, title: [one.smiles ?? "kept back", ...all].join("\n"), onclick: () => this.open(one.smiles),
      }, h("span", { className: "thumb" }), h("span", {}, labels || "label kept back"), h("span", { className: "soft" }, `${percent(one.similarity)} similar`));
    });
    this.near.replaceChildren(h("h2", {}, "Most similar in training"), h("div", { className: "three" }, cards));
    const known = details.nearest.map((one) => one.smiles).filter(Boolean);
    if (!known.length) return;
    const { svgs } = await ask("/api/pictures", { smiles: known });
    svgs.forEach((svg, i) => { if (svg) cards[i].firstChild.replaceWith(picture(svg, "", "thumb")); });
  }
}
